// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/elf.hpp>

#include <cstring>
#include <elf.h>

namespace cubinet {
namespace {

Error corrupt(const std::string& reason) {
  return Error{ErrorCode::corruption, "not a usable ELF image: " + reason};
}

// Copies a structure out of the image, in which its offset may be unaligned.
template <class T>
Result<T> structure_at(ByteView image, std::uint64_t offset, const char* what) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) {
    return corrupt(std::string(what) + " is outside the file");
  }
  T value;
  std::memcpy(&value, image.data() + offset, sizeof(T));
  return value;
}

// Names of real cubins have up to some thousand bytes. All names of a library of kernels have a few
// million.
constexpr std::size_t kMaximumNameBytes = std::size_t{64} << 10;
constexpr std::size_t kMaximumBytesOfNames = std::size_t{16} << 20;

// A string table. Any number of sections or symbols can refer to one long string. The bytes read
// are limited so that reading a file does not cost more than its size.
class NameTable {
 public:
  explicit NameTable(ByteView content) : content_(content) {}

  Result<std::string_view> at(std::uint64_t offset) {
    if (offset >= content_.size()) return corrupt("a name is outside its string table");
    const std::string_view rest = as_text(content_.subspan(static_cast<std::size_t>(offset)));
    const std::string_view name = rest.substr(0, rest.substr(0, kMaximumNameBytes + 1).find('\0'));
    if (name.size() > kMaximumNameBytes) return corrupt("a name has more than 64 KiB");
    if (name.size() == rest.size()) return corrupt("a name has no end");
    bytes_read_ += name.size();
    if (bytes_read_ > kMaximumBytesOfNames) return corrupt("its names have more than 16 MiB in all");
    return name;
  }

 private:
  ByteView content_;
  std::size_t bytes_read_ = 0;
};

// Sections of CUDA's relocatable objects that occupy memory but have no bytes in the file, as
// SHT_NOBITS has none in linked ones. The numbers are specific to the machine CUDA; on other
// machines they mean something else.
constexpr Elf64_Half kMachineCuda = 190;  // EM_CUDA
constexpr Elf64_Word kCudaGlobal = SHT_LOPROC + 0x7;
constexpr Elf64_Word kCudaShared = SHT_LOPROC + 0xa;

bool has_bytes(const Elf64_Shdr& header, Elf64_Half machine) {
  if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL) return false;
  return machine != kMachineCuda || (header.sh_type != kCudaGlobal && header.sh_type != kCudaShared);
}

Result<ByteView> section_content(ByteView image, const Elf64_Shdr& header, Elf64_Half machine) {
  if (!has_bytes(header, machine)) return ByteView();
  if (header.sh_offset > image.size() || image.size() - header.sh_offset < header.sh_size) {
    return corrupt("a section is outside the file");
  }
  return image.subspan(static_cast<std::size_t>(header.sh_offset), static_cast<std::size_t>(header.sh_size));
}

}  // namespace

Result<ElfImage> ElfImage::parse(ByteView image) {
  CUBINET_TRY_ASSIGN(const auto header, structure_at<Elf64_Ehdr>(image, 0, "the header"));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return corrupt("it does not begin with the ELF magic");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return corrupt("it is not 64-bit little-endian");
  }
  ElfImage elf;
  elf.type_ = header.e_type;
  elf.machine_ = header.e_machine;
  elf.flags_ = header.e_flags;
  elf.os_abi_ = header.e_ident[EI_OSABI];
  elf.abi_version_ = header.e_ident[EI_ABIVERSION];
  if (header.e_shnum == 0) return elf;
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return corrupt("its section headers have an unknown size");

  std::vector<Elf64_Shdr> headers;
  headers.reserve(header.e_shnum);
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    // Subtraction is used because the sum would wrap around if e_shoff is near 2^64.
    if (header.e_shoff > image.size()) return corrupt("the section table is outside the file");
    CUBINET_TRY_ASSIGN(
        headers.emplace_back(),
        structure_at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr), "the section table"));
  }
  if (header.e_shstrndx >= headers.size()) return corrupt("it names no section-name table");
  CUBINET_TRY_ASSIGN(const ByteView name_bytes,
                     section_content(image, headers[header.e_shstrndx], elf.machine_));
  NameTable names(name_bytes);
  elf.sections_.reserve(headers.size());
  for (const Elf64_Shdr& section_header : headers) {
    ElfSection section;
    CUBINET_TRY_ASSIGN(section.name, names.at(section_header.sh_name));
    CUBINET_TRY_ASSIGN(section.content, section_content(image, section_header, elf.machine_));
    section.type = section_header.sh_type;
    section.flags = section_header.sh_flags;
    section.link = section_header.sh_link;
    section.info = section_header.sh_info;
    section.size = section_header.sh_size;
    section.alignment = section_header.sh_addralign;
    elf.sections_.push_back(section);
  }
  return elf;
}

const ElfSection* ElfImage::find_section(std::string_view name) const {
  for (const ElfSection& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

Result<std::vector<ElfSymbol>> ElfImage::symbols() const {
  const ElfSection* table = nullptr;
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_SYMTAB) continue;
    // The specification allows one symbol table.
    if (table != nullptr) return corrupt("it has two symbol tables");
    table = &section;
  }
  std::vector<ElfSymbol> symbols;
  if (table == nullptr) return symbols;
  if (table->link >= sections_.size()) return corrupt("the symbol table names no string table");
  NameTable names(sections_[table->link].content);
  symbols.reserve(table->content.size() / sizeof(Elf64_Sym));
  for (std::size_t offset = 0; offset + sizeof(Elf64_Sym) <= table->content.size();
       offset += sizeof(Elf64_Sym)) {
    CUBINET_TRY_ASSIGN(const auto raw, structure_at<Elf64_Sym>(table->content, offset, "a symbol"));
    ElfSymbol symbol;
    if (raw.st_name != 0) {
      CUBINET_TRY_ASSIGN(symbol.name, names.at(raw.st_name));
    }
    symbol.type = ELF64_ST_TYPE(raw.st_info);
    symbol.binding = ELF64_ST_BIND(raw.st_info);
    symbol.other = raw.st_other;
    symbol.section = raw.st_shndx;
    symbol.value = raw.st_value;
    symbol.size = raw.st_size;
    symbols.push_back(symbol);
  }
  return symbols;
}

Result<void> for_each_elf_note(
    ByteView content,
    const std::function<bool(std::string_view owner, std::uint32_t type, ByteView payload)>& visit) {
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  std::uint64_t offset = 0;
  while (offset + sizeof(Elf64_Nhdr) <= content.size()) {
    CUBINET_TRY_ASSIGN(const auto note, structure_at<Elf64_Nhdr>(content, offset, "a note"));
    offset += sizeof(Elf64_Nhdr);
    const std::uint64_t name_bytes = padded(note.n_namesz);
    if (content.size() - offset < name_bytes || content.size() - offset - name_bytes < note.n_descsz) {
      return corrupt("a note is outside its section");
    }
    std::string_view owner = as_text(content.subspan(static_cast<std::size_t>(offset), note.n_namesz));
    owner = owner.substr(0, owner.find('\0'));
    const ByteView payload = content.subspan(static_cast<std::size_t>(offset + name_bytes), note.n_descsz);
    if (!visit(owner, note.n_type, payload)) return {};
    offset += name_bytes + padded(note.n_descsz);
  }
  return {};
}

Result<std::optional<Bytes>> elf_build_id(const ElfImage& image) {
  std::optional<Bytes> build_id;
  for (const ElfSection& section : image.sections()) {
    if (section.type != SHT_NOTE) continue;
    CUBINET_TRY(
        for_each_elf_note(section.content, [&](std::string_view owner, std::uint32_t type, ByteView payload) {
          if (owner != "GNU" || type != NT_GNU_BUILD_ID) return true;
          build_id = Bytes(payload.begin(), payload.end());
          return false;
        }));
    if (build_id) break;
  }
  return build_id;
}

}  // namespace cubinet
