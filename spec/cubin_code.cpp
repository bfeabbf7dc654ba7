// SPDX-License-Identifier: Apache-2.0
#include "cubin_attributes.hpp"
#include "instruction.hpp"

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/elf.hpp>
#include <cubinet/spec/cubin_code.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <algorithm>
#include <elf.h>
#include <set>
#include <string_view>
#include <vector>

namespace cubinet {
namespace {

constexpr std::string_view kText = ".text.";
constexpr std::uint8_t kToolkitVersion = 0x37;  // EIATTR_CUDA_API_VERSION
constexpr std::uint8_t kParameterBank = 0x0a;   // EIATTR_PARAM_CBANK: begins with a symbol number
constexpr std::uint8_t kExternals = 0x0f;       // EIATTR_EXTERNS: symbol numbers
constexpr unsigned kUserConstants = 3;          // the constant bank of __constant__ variables
constexpr unsigned kAddresses = 4;              // the constant bank of the addresses of variables

// Returns true if an instruction may have an operand in the constant bank.
bool may_read_bank(ByteView code, unsigned bank) {
  if (code.size() % Instruction::kBytes != 0) return true;
  for (std::size_t at = 0; at < code.size(); at += Instruction::kBytes) {
    if (Instruction(number_at(code, at)).may_read_bank(bank)) return true;
  }
  return false;
}

void write_in_order(ByteWriter& writer, std::vector<Bytes> parts) {
  std::sort(parts.begin(), parts.end());
  for (const Bytes& part : parts)
    writer.string(as_text(part));
}

class CodeReader {
 public:
  CodeReader(const ElfImage& elf, std::vector<ElfSymbol> symbols, const CubinInspection& inspection,
             std::size_t limit, bool with_data)
      : elf_(elf),
        symbols_(std::move(symbols)),
        kernels_(inspection.kernels.begin(), inspection.kernels.end()),
        known_encoding_(inspection.capability.major >= 7),
        with_data_(with_data),
        hashable_(limit) {
    for (const ElfSection& section : elf_.sections())
      sections_.emplace(section.name, &section);
    read_resources();
  }

  Result<CubinCode> read() {
    CubinCode code;
    for (const std::string& kernel : kernels_)
      code.kernels.emplace(kernel, parts_of(kernel));
    code.module.emplace("functions", functions());
    code.module.emplace("data", data());
    if (hashable_ > 0) return code;
    return Error{ErrorCode::corruption, "not a usable cubin: its sections or variables overlap",
                 "build or fetch the file again"};
  }

 private:
  void read_resources();
  void write_content(ByteWriter& writer, ByteView content);
  void write_section(ByteWriter& writer, const std::string& name);
  void write_relocations(ByteWriter& writer, const std::string& section);
  void write_target(ByteWriter& writer, std::uint64_t symbol);
  Sha256Digest code_of(const std::string& function);
  Sha256Digest constants_of(const std::string& kernel);
  Sha256Digest resources_of(const std::string& function);
  Sha256Digest attributes_of(const std::string& kernel);
  CodeParts parts_of(const std::string& kernel);
  Sha256Digest functions();
  bool is_read(unsigned bank) const;
  Sha256Digest data();

  const ElfImage& elf_;
  const std::vector<ElfSymbol> symbols_;
  const std::set<std::string, std::less<>> kernels_;
  const bool known_encoding_;
  const bool with_data_;
  std::multimap<std::string_view, const ElfSection*> sections_;
  // Tag and value of each function's entries in .nv.info.
  std::map<std::string_view, std::vector<std::pair<std::uint8_t, std::uint32_t>>> resources_;
  std::size_t hashable_;  // bytes that may still be hashed; 0 after the limit is exceeded
};

void CodeReader::read_resources() {
  const ElfSection* section = elf_.find_section(".nv.info");
  if (section == nullptr) return;
  CubinAttributes attributes(section->content);
  while (const auto attribute = attributes.next()) {
    const std::uint32_t symbol = attribute->word(0);
    if (attribute->value.size() == 8 && symbol < symbols_.size())
      resources_[symbols_[symbol].name].emplace_back(attribute->tag, attribute->word(1));
  }
  for (auto& [function, stated] : resources_)
    std::sort(stated.begin(), stated.end());
}

void CodeReader::write_content(ByteWriter& writer, ByteView content) {
  writer.u64(content.size());
  hashable_ -= std::min(hashable_, content.size());
  if (hashable_ > 0) writer.raw(sha256(content).bytes);
}

void CodeReader::write_section(ByteWriter& writer, const std::string& name) {
  const auto [first, behind] = sections_.equal_range(name);
  for (auto section = first; section != behind; ++section)
    write_content(writer, section->second->content);
}

// Writes the value that a symbol represents: the bytes of a variable, or the name of anything else.
void CodeReader::write_target(ByteWriter& writer, std::uint64_t number) {
  if (number >= symbols_.size()) return writer.u64(number);
  const ElfSymbol& symbol = symbols_[static_cast<std::size_t>(number)];
  if (symbol.section == SHN_UNDEF || symbol.section >= elf_.sections().size())
    return writer.string(symbol.name);
  const ElfSection& section = elf_.sections()[symbol.section];
  if (section.name.starts_with(kText)) {
    writer.string(section.name);
    return writer.u64(symbol.value);
  }
  writer.u32(section.type);
  writer.u64(symbol.size);
  const std::uint64_t from = std::min<std::uint64_t>(symbol.value, section.content.size());
  const std::uint64_t count = std::min<std::uint64_t>(symbol.size, section.content.size() - from);
  write_content(writer,
                section.content.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count)));
}

void CodeReader::write_relocations(ByteWriter& writer, const std::string& name) {
  std::vector<Bytes> relocations;
  for (const bool with_addend : {false, true}) {
    const std::size_t size = with_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    const auto [first, behind] = sections_.equal_range((with_addend ? ".rela" : ".rel") + name);
    for (auto section = first; section != behind; ++section) {
      const ByteView content = section->second->content;
      for (std::size_t at = 0; at + size <= content.size(); at += size) {
        const std::uint64_t info = number_at(content, at + 8);
        ByteWriter relocation;
        relocation.u64(number_at(content, at));
        relocation.u64(ELF64_R_TYPE(info));
        relocation.u64(with_addend ? number_at(content, at + 16) : 0);
        write_target(relocation, ELF64_R_SYM(info));
        relocations.push_back(relocation.take());
      }
    }
  }
  write_in_order(writer, std::move(relocations));
}

Sha256Digest CodeReader::code_of(const std::string& function) {
  ByteWriter writer;
  write_section(writer, ".text." + function);
  write_relocations(writer, ".text." + function);
  writer.string("capmerc");
  write_section(writer, ".nv.capmerc.text." + function);
  return sha256(writer.take());
}

Sha256Digest CodeReader::constants_of(const std::string& kernel) {
  ByteWriter writer;
  for (char bank = '0'; bank <= '9'; ++bank) {
    const std::string section = std::string(".nv.constant") + bank + "." + kernel;
    writer.string(std::string_view(&bank, 1));
    write_section(writer, section);
    write_relocations(writer, section);
  }
  return sha256(writer.take());
}

Sha256Digest CodeReader::resources_of(const std::string& function) {
  ByteWriter writer;
  if (const auto stated = resources_.find(function); stated != resources_.end()) {
    for (const auto& [tag, value] : stated->second) {
      writer.u8(tag);
      writer.u32(value);
    }
  }
  for (const std::string& memory : {std::string(".nv.shared."), std::string(".nv.local.")}) {
    writer.string(memory);
    const std::string name = memory + function;
    const auto [first, behind] = sections_.equal_range(name);
    for (auto section = first; section != behind; ++section) {
      writer.u64(section->second->size);
      writer.u64(section->second->alignment);
    }
  }
  return sha256(writer.take());
}

Sha256Digest CodeReader::attributes_of(const std::string& kernel) {
  std::vector<Bytes> written;
  const std::string name = std::string(kKernelInfo) + kernel;
  const auto [first, behind] = sections_.equal_range(name);
  for (auto section = first; section != behind; ++section) {
    CubinAttributes attributes(section->second->content);
    while (const auto attribute = attributes.next()) {
      if (attribute->tag == kToolkitVersion) continue;
      ByteWriter writer;
      writer.u8(attribute->tag);
      ByteView value = attribute->value;
      if (attribute->tag == kParameterBank) value = value.subspan(std::min<std::size_t>(4, value.size()));
      if (attribute->tag == kExternals) {
        for (std::size_t i = 0; i < value.size() / 4; ++i)
          write_target(writer, attribute->word(i));
        value = {};
      }
      writer.raw(value);
      written.push_back(writer.take());
    }
  }
  ByteWriter writer;
  write_in_order(writer, std::move(written));
  return sha256(writer.take());
}

CodeParts CodeReader::parts_of(const std::string& kernel) {
  return {{"code", code_of(kernel)},
          {"constants", constants_of(kernel)},
          {"resources", resources_of(kernel)},
          {"attributes", attributes_of(kernel)}};
}

Sha256Digest CodeReader::functions() {
  std::vector<Bytes> functions;
  for (auto section = sections_.lower_bound(kText);
       section != sections_.end() && section->first.starts_with(kText);
       section = sections_.upper_bound(section->first)) {
    const std::string function(section->first.substr(kText.size()));
    if (kernels_.contains(function)) continue;
    ByteWriter writer;
    writer.raw(code_of(function).bytes);
    writer.raw(resources_of(function).bytes);
    functions.push_back(writer.take());
  }
  ByteWriter writer;
  write_in_order(writer, std::move(functions));
  return sha256(writer.take());
}

bool CodeReader::is_read(unsigned bank) const {
  if (!known_encoding_) return true;
  return std::any_of(sections_.begin(), sections_.end(), [&](const auto& section) {
    return section.first.starts_with(kText) && may_read_bank(section.second->content, bank);
  });
}

Sha256Digest CodeReader::data() {
  ByteWriter writer;
  for (const unsigned bank : {kUserConstants, kAddresses}) {
    if (!with_data_ || !is_read(bank)) continue;
    const std::string section = ".nv.constant" + std::to_string(bank);
    writer.string(section);
    write_section(writer, section);
    write_relocations(writer, section);
    if (bank == kAddresses) write_relocations(writer, ".nv.global.init");
  }
  return sha256(writer.take());
}

Result<CubinCode> read_code(ByteView image, bool with_data) {
  CUBINET_TRY_ASSIGN(const CubinInspection inspection, inspect_cubin(image));
  CUBINET_TRY_ASSIGN(const ElfImage elf, ElfImage::parse(image));
  CUBINET_TRY_ASSIGN(std::vector<ElfSymbol> symbols, elf.symbols());
  // Sections of a cubin share bytes at most twice.
  return CodeReader(elf, std::move(symbols), inspection, 4 * image.size(), with_data).read();
}

}  // namespace

Result<CubinCode> read_cubin_code(ByteView image) {
  return read_code(image, true);
}

Result<CubinCode> read_cubin_code_without_data(ByteView image) {
  return read_code(image, false);
}

}  // namespace cubinet
