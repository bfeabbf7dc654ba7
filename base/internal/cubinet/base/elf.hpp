// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

struct ElfSection {
  std::string_view name;  // points into the image
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t size = 0;  // in memory
  std::uint64_t alignment = 0;
  ByteView content;  // empty if the file holds no bytes, as for SHT_NOBITS
};

struct ElfSymbol {
  std::string_view name;
  std::uint8_t type = 0;     // STT_*
  std::uint8_t binding = 0;  // STB_*
  std::uint8_t other = 0;    // st_other; a cubin marks its entry functions here (STO_CUDA_ENTRY)
  std::uint16_t section = 0;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
};

// A little-endian 64-bit ELF image: a cubin or a shared library. Parsing reads the header and the
// section table and checks every offset against the image. Any input gives a value or a corruption
// error, in time and memory proportional to its size. Holds views: the image must outlive it.
class ElfImage {
 public:
  static Result<ElfImage> parse(ByteView image);

  std::uint16_t type() const { return type_; }
  std::uint16_t machine() const { return machine_; }
  std::uint32_t flags() const { return flags_; }
  std::uint8_t os_abi() const { return os_abi_; }
  std::uint8_t abi_version() const { return abi_version_; }

  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* find_section(std::string_view name) const;
  // Returns the symbols of .symtab, or an empty list if there is none. Returns corruption for two
  // tables, for a name longer than 64 KiB, and for names longer than 16 MiB in total. The same
  // limits apply to section names.
  Result<std::vector<ElfSymbol>> symbols() const;

 private:
  std::uint16_t type_ = 0;
  std::uint16_t machine_ = 0;
  std::uint32_t flags_ = 0;
  std::uint8_t os_abi_ = 0;
  std::uint8_t abi_version_ = 0;
  std::vector<ElfSection> sections_;
};

// Walks the notes of an SHT_NOTE section's content (4-byte alignment) until `visit` returns false.
Result<void> for_each_elf_note(
    ByteView content,
    const std::function<bool(std::string_view owner, std::uint32_t type, ByteView payload)>& visit);

// Returns the NT_GNU_BUILD_ID of an image, or nullopt if it has none.
Result<std::optional<Bytes>> elf_build_id(const ElfImage& image);

}  // namespace cubinet
