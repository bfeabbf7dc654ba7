// SPDX-License-Identifier: Apache-2.0
#include "stub_cubin.hpp"

#include <cstring>
#include <elf.h>
#include <map>

namespace cubinet::stub {
namespace {

constexpr unsigned kCudaMachine = 190;
constexpr unsigned kEntryFunction = 0x10;      // st_other of a kernel
constexpr unsigned kManaged = 0x04;            // st_other of a variable in managed memory
constexpr std::uint8_t kParameterInfo = 0x17;  // EIATTR_KPARAM_INFO
constexpr std::uint8_t kMaximumThreads = 0x05;
constexpr std::uint8_t kSizedValue = 0x04;  // EIFMT_SVAL: 16-bit size, then the value
// Reserved on sm_90 and up: counted in .nv.shared, not by the driver.
constexpr std::uint32_t kReservedSharedBytes = 1024;

class Reader {
 public:
  explicit Reader(const void* image) : base_(static_cast<const std::uint8_t*>(image)) {
    std::memcpy(&header_, base_, sizeof(header_));
  }

  std::optional<CubinImage> read() {
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
        header_.e_machine != kCudaMachine || header_.e_shentsize != sizeof(Elf64_Shdr) ||
        header_.e_shnum == 0 || header_.e_shstrndx >= header_.e_shnum) {
      return std::nullopt;
    }
    CubinImage cubin;
    cubin.sm = static_cast<int>(header_.e_ident[EI_ABIVERSION] >= 8 ? (header_.e_flags >> 8U) & 0xffU
                                                                    : header_.e_flags & 0xffU);
    for (unsigned i = 0; i < header_.e_shnum; ++i)
      sections_.emplace(name_of(section(i)), section(i));
    if (const auto compat = sections_.find(".nv.compat");
        compat != sections_.end() && compat->second.sh_size >= 4) {
      const std::uint8_t* bytes = base_ + compat->second.sh_offset;
      cubin.specific = bytes[0] == 2 && bytes[1] == 9 && bytes[2] == 1;
    }
    if (const auto symbols = sections_.find(".symtab"); symbols != sections_.end())
      read_kernels(symbols->second, cubin);
    return cubin;
  }

 private:
  Elf64_Shdr section(unsigned index) const {
    Elf64_Shdr header;
    std::memcpy(&header, base_ + header_.e_shoff + index * sizeof(Elf64_Shdr), sizeof(header));
    return header;
  }

  const char* text(const Elf64_Shdr& table, std::uint64_t offset) const {
    return static_cast<const char*>(static_cast<const void*>(base_ + table.sh_offset + offset));
  }

  std::string name_of(const Elf64_Shdr& header) const {
    return text(section(header_.e_shstrndx), header.sh_name);
  }

  void read_kernels(const Elf64_Shdr& symbols, CubinImage& cubin) const {
    const Elf64_Shdr names = section(symbols.sh_link);
    for (std::uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= symbols.sh_size;
         offset += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, base_ + symbols.sh_offset + offset, sizeof(symbol));
      if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF &&
          symbol.st_shndx < header_.e_shnum)
        read_global(symbol, text(names, symbol.st_name), cubin);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || (symbol.st_other & kEntryFunction) == 0) continue;
      KernelImage kernel;
      kernel.name = text(names, symbol.st_name);
      if (const auto info = sections_.find(".nv.info." + kernel.name); info != sections_.end()) {
        read_attributes(info->second, kernel);
      }
      if (const auto shared = sections_.find(".nv.shared." + kernel.name); shared != sections_.end()) {
        kernel.static_shared_bytes = static_cast<std::uint32_t>(shared->second.sh_size);
        if (sections_.count(".nv.shared.reserved.0") != 0 &&
            kernel.static_shared_bytes >= kReservedSharedBytes) {
          kernel.static_shared_bytes -= kReservedSharedBytes;
        }
      }
      cubin.kernels.push_back(std::move(kernel));
    }
  }

  // Reads a variable. Variables with initial values are stored in .nv.constant3 or .nv.global.init,
  // zeroed ones in .nv.global.
  void read_global(const Elf64_Sym& symbol, const char* name, CubinImage& cubin) const {
    const Elf64_Shdr header = section(symbol.st_shndx);
    const std::string place = name_of(header);
    if (place != ".nv.constant3" && place != ".nv.global" && place != ".nv.global.init") return;
    GlobalImage global{name, std::vector<std::uint8_t>(symbol.st_size), symbol.st_other == kManaged};
    if (header.sh_type != SHT_NOBITS && symbol.st_value + symbol.st_size <= header.sh_size)
      std::memcpy(global.content.data(), base_ + header.sh_offset + symbol.st_value, symbol.st_size);
    cubin.globals.push_back(std::move(global));
  }

  // Reads entries of 4 bytes: format, attribute, 16-bit value or size. The value of an EIFMT_SVAL
  // follows its entry.
  void read_attributes(const Elf64_Shdr& info, KernelImage& kernel) const {
    const std::uint8_t* at = base_ + info.sh_offset;
    const std::uint8_t* const end = at + info.sh_size;
    std::map<std::uint16_t, Parameter> parameters;
    while (end - at >= 4) {
      const std::uint8_t format = at[0];
      const std::uint8_t attribute = at[1];
      const std::uint16_t size = static_cast<std::uint16_t>(at[2] | (at[3] << 8U));
      at += 4;
      if (format != kSizedValue) continue;
      if (end - at < size) return;
      if (attribute == kParameterInfo && size >= 12) {
        std::uint16_t ordinal = 0;
        std::uint16_t offset = 0;
        std::uint32_t bits = 0;
        std::memcpy(&ordinal, at + 4, sizeof(ordinal));
        std::memcpy(&offset, at + 6, sizeof(offset));
        std::memcpy(&bits, at + 8, sizeof(bits));
        parameters[ordinal] = Parameter{offset, bits >> 18U};
      }
      if (attribute == kMaximumThreads && size >= 12) {
        std::uint32_t threads[3];
        std::memcpy(threads, at, sizeof(threads));
        kernel.maximum_threads = threads[0] * threads[1] * threads[2];
      }
      at += size;
    }
    for (const auto& parameter : parameters)
      kernel.parameters.push_back(parameter.second);
  }

  const std::uint8_t* base_;
  Elf64_Ehdr header_{};
  std::map<std::string, Elf64_Shdr> sections_;
};

}  // namespace

std::optional<CubinImage> read_cubin(const void* image) {
  if (image == nullptr || std::memcmp(image, ELFMAG, SELFMAG) != 0) return std::nullopt;
  return Reader(image).read();
}

}  // namespace cubinet::stub
