// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/base/byte_stream.hpp>

#include <cstring>
#include <elf.h>
#include <memory>
#include <optional>

namespace cubinet::test {
namespace {

constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint8_t kOsAbiCuda = 0x41;
constexpr std::uint8_t kEntryFunction = 0x10;       // STO_CUDA_ENTRY
constexpr std::uint8_t kManagedVariable = 0x04;     // STO_CUDA_MANAGED
constexpr std::uint32_t kSectionInfo = SHT_LOPROC;  // .nv.info and .nv.info.<kernel>
constexpr std::uint32_t kSectionCompat = SHT_LOPROC + 0x86;
constexpr std::uint32_t kToolkitNote = 2000;

struct Section {
  std::string name;
  std::uint32_t type = SHT_PROGBITS;
  std::uint64_t flags = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t entry_bytes = 0;
  Bytes content = {};
};

template <class T>
void append_structure(Bytes& bytes, const T& value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

void align(Bytes& bytes, std::size_t alignment) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}

// A string table under construction. Offset 0 is the empty name.
class Names {
 public:
  std::uint32_t add(std::string_view name) {
    const auto at = static_cast<std::uint32_t>(bytes_.size());
    const ByteView view = as_bytes(name);
    bytes_.insert(bytes_.end(), view.begin(), view.end());
    bytes_.push_back(std::byte{0});
    return at;
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_ = Bytes(1);
};

// Returns the note that ptxas writes: two numbers, string offsets, then the strings, the last of
// which contains "-arch sm_90a".
Bytes toolkit_note(SmTarget target) {
  const std::string strings = std::string("\0ptxas\0", 7) + "Cuda compilation tools, release 13.0, V13.0.88" +
                              std::string(1, '\0') + "Build cuda_13.0" + std::string(1, '\0') + "-arch " +
                              target.to_string() + " -m 64 " + std::string(1, '\0');
  ByteWriter note;
  note.u32(12);  // of the owner's name
  note.u32(static_cast<std::uint32_t>(24 + strings.size()));
  note.u32(kToolkitNote);
  note.raw(as_bytes(std::string_view("NVIDIA Corp\0", 12)));
  for (const std::uint32_t field : {2U, 0U, 1U, 7U, 54U, 70U})
    note.u32(field);
  note.raw(as_bytes(strings));
  Bytes bytes = note.take();
  align(bytes, 4);
  return bytes;
}

// Returns .nv.compat. Attribute 9 comes first: 1 for a specific target.
Bytes compatibility(SmTarget target) {
  ByteWriter writer;
  writer.u8(2);
  writer.u8(9);
  writer.u16(target.kind == TargetKind::specific ? 1 : 0);
  return writer.take();
}

// Returns EIATTR_KPARAM_INFO and EIATTR_CBANK_PARAM_SIZE of a kernel with one structure as its
// argument.
Bytes kernel_info(std::uint32_t parameter_bytes) {
  ByteWriter writer;
  if (parameter_bytes != 0) {
    writer.u8(4);
    writer.u8(0x17);
    writer.u16(12);
    writer.u32(0);                                    // index
    writer.u32(0);                                    // ordinal, offset
    writer.u32(0x1f000U | (parameter_bytes << 18U));  // size in the upper 14 bits
  }
  writer.u8(3);
  writer.u8(0x19);
  writer.u16(static_cast<std::uint16_t>(parameter_bytes));
  return writer.take();
}

std::vector<Section> sections_of(const FakeCubin& description) {
  std::vector<Section> sections(4);
  sections[0].type = SHT_NULL;
  sections[1] = {.name = ".shstrtab", .type = SHT_STRTAB};
  sections[2] = {.name = ".strtab", .type = SHT_STRTAB};
  sections[3] = {
      .name = ".symtab", .type = SHT_SYMTAB, .link = 2, .info = 1, .entry_bytes = sizeof(Elf64_Sym)};
  sections.push_back(
      {.name = ".note.nv.tkinfo", .type = SHT_NOTE, .content = toolkit_note(description.target)});
  if (description.target.major >= 9) {
    sections.push_back(
        {.name = ".nv.compat", .type = kSectionCompat, .content = compatibility(description.target)});
  }
  Names names;
  append_structure(sections[3].content, Elf64_Sym{});
  for (const FakeKernel& kernel : description.kernels) {
    Elf64_Sym symbol{};
    symbol.st_name = names.add(kernel.symbol);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = kEntryFunction;
    symbol.st_shndx = static_cast<std::uint16_t>(sections.size());
    symbol.st_size = description.code_bytes;
    append_structure(sections[3].content, symbol);
    const auto symbol_index = static_cast<std::uint32_t>(sections[3].content.size() / sizeof(Elf64_Sym) - 1);
    const auto text_index = static_cast<std::uint32_t>(sections.size());
    sections.push_back({.name = ".text." + kernel.symbol,
                        .flags = SHF_ALLOC | SHF_EXECINSTR,
                        .link = 3,
                        .info = symbol_index,
                        .content = Bytes(description.code_bytes, std::byte{description.filler})});
    sections.push_back({.name = ".nv.info." + kernel.symbol,
                        .type = kSectionInfo,
                        .flags = SHF_INFO_LINK,
                        .link = 3,
                        .info = text_index,
                        .content = kernel_info(kernel.parameter_bytes)});
  }
  for (const FakeGlobal& global : description.globals) {
    Elf64_Sym symbol{};
    symbol.st_name = names.add(global.symbol);
    symbol.st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
    symbol.st_other = global.managed ? kManagedVariable : 0;
    symbol.st_shndx = static_cast<std::uint16_t>(sections.size());
    symbol.st_size = global.bytes;
    append_structure(sections[3].content, symbol);
    sections.push_back({.name = global.section,
                        .flags = SHF_ALLOC,
                        .content = Bytes(global.bytes, std::byte{description.filler})});
  }
  sections[2].content = names.bytes();
  return sections;
}

Elf64_Ehdr header_for(SmTarget target) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = kOsAbiCuda;
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_type = ET_EXEC;
  header.e_machine = kMachineCuda;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_shstrndx = 1;
  header.e_flags = 0x06000004U | (static_cast<std::uint32_t>(target.major * 10 + target.minor) << 8U);
  return header;
}

}  // namespace

Bytes make_fake_cubin(const FakeCubin& description) {
  std::vector<Section> sections = sections_of(description);
  Names section_names;
  std::vector<Elf64_Shdr> table(sections.size());
  for (std::size_t i = 1; i < sections.size(); ++i)
    table[i].sh_name = section_names.add(sections[i].name);
  sections[1].content = section_names.bytes();

  Bytes image(sizeof(Elf64_Ehdr));
  for (std::size_t i = 1; i < sections.size(); ++i) {
    align(image, 8);
    table[i].sh_type = sections[i].type;
    table[i].sh_flags = sections[i].flags;
    table[i].sh_offset = image.size();
    table[i].sh_size = sections[i].content.size();
    table[i].sh_link = sections[i].link;
    table[i].sh_info = sections[i].info;
    table[i].sh_addralign = 4;
    table[i].sh_entsize = sections[i].entry_bytes;
    image.insert(image.end(), sections[i].content.begin(), sections[i].content.end());
  }
  align(image, 8);
  Elf64_Ehdr header = header_for(description.target);
  if (description.relocatable) header.e_type = ET_REL;
  header.e_shoff = image.size();
  header.e_shnum = static_cast<std::uint16_t>(sections.size());
  for (const Elf64_Shdr& section : table)
    append_structure(image, section);
  std::memcpy(image.data(), &header, sizeof(header));
  return image;
}

BuildFingerprint fake_fingerprint(std::string_view word) {
  return {sha256(as_bytes(word))};
}

Cubin make_cubin(const KernelSpec& spec, const FakeCubin& description, std::string_view build) {
  auto image = std::make_shared<const Bytes>(make_fake_cubin(description));
  CubinRecord record;
  record.identity = identify(spec, description.target);
  record.target = description.target;
  record.fingerprint = fake_fingerprint(build);
  record.digest = sha256(*image);
  record.size = image->size();
  record.interface_version = 1;
  for (const FakeKernel& kernel : description.kernels) {
    EntryPoint entry;
    entry.name = kernel.symbol;
    entry.symbol = kernel.symbol;
    entry.threads = 128;
    entry.parameter_bytes = kernel.parameter_bytes;
    record.entry_points.push_back(std::move(entry));
  }
  record.compiler = "ptxas of the tests";
  record.options = "-arch=" + description.target.to_string();
  return {std::make_shared<const CubinRecord>(std::move(record)), std::move(image)};
}

}  // namespace cubinet::test
