// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/base/file_system.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <elf.h>
#include <filesystem>
#include <string>

namespace cubinet {
namespace {

Bytes small_elf() {
  return test::make_fake_cubin({{9, 0, TargetKind::specific}, {{"first", 16}, {"second", 0}}});
}

// Calls every function of an image, so that the loops below reach the whole parser.
void exercise(ByteView bytes) {
  const auto elf = ElfImage::parse(bytes);
  if (!elf) return;
  static_cast<void>(elf->symbols());
  static_cast<void>(elf_build_id(*elf));
  for (const ElfSection& section : elf->sections()) {
    static_cast<void>(for_each_elf_note(section.content, [](auto, auto, ByteView) { return true; }));
  }
}

TEST_CASE("sections and symbols of an image are found by name") {
  const Bytes bytes = small_elf();
  const auto elf = ElfImage::parse(bytes);
  REQUIRE(elf);
  CHECK(elf->machine() == 190);
  CHECK(elf->find_section(".symtab") != nullptr);
  CHECK(elf->find_section(".symtab")->alignment == 4);
  CHECK(elf->find_section(".nothing") == nullptr);
  const auto symbols = elf->symbols();
  REQUIRE(symbols);
  int found = 0;
  for (const ElfSymbol& symbol : *symbols)
    found += symbol.name == "first" || symbol.name == "second" ? 1 : 0;
  CHECK(found == 2);
}

// Returns whether an image of the machine may have a section of this type whose size exceeds the
// file.
bool may_be_larger_than_the_file(Elf64_Half machine, Elf64_Word type) {
  Bytes bytes = small_elf();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_machine = machine;
  std::memcpy(bytes.data(), &header, sizeof header);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    std::byte* const at = bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, at, sizeof section);
    if (section.sh_type != SHT_PROGBITS) continue;
    section.sh_type = type;
    section.sh_size = bytes.size() + 1;
    std::memcpy(at, &section, sizeof section);
    const auto elf = ElfImage::parse(bytes);
    if (elf) CHECK(elf->sections()[i].content.empty());
    return elf.has_value();
  }
  return false;
}

TEST_CASE("shared memory and variables of a relocatable object have no bytes in the file") {
  constexpr Elf64_Half kCuda = 190;
  CHECK(may_be_larger_than_the_file(kCuda, SHT_NOBITS));
  CHECK(may_be_larger_than_the_file(kCuda, SHT_LOPROC + 0x7));
  CHECK(may_be_larger_than_the_file(kCuda, SHT_LOPROC + 0xa));
  CHECK_FALSE(may_be_larger_than_the_file(kCuda, SHT_LOPROC + 0x8));  // variables with a value
  CHECK_FALSE(may_be_larger_than_the_file(kCuda, SHT_PROGBITS));
  CHECK_FALSE(may_be_larger_than_the_file(EM_X86_64, SHT_LOPROC + 0xa));
}

TEST_CASE("the build id of a shared library is read") {
  const auto executable = std::filesystem::read_symlink("/proc/self/exe");
  const auto bytes = posix_file_system()->read(executable, std::uint64_t{1} << 30);
  REQUIRE(bytes);
  const auto elf = ElfImage::parse(*bytes);
  REQUIRE(elf);
  const auto build_id = elf_build_id(*elf);
  REQUIRE(build_id);
  if (*build_id) CHECK((*build_id)->size() >= 8);  // a linker may be configured to write none
  CHECK(elf->machine() != 190);
}

TEST_CASE("every truncation gives an error or a value and reads nothing outside" *
          doctest::test_suite("loop")) {
  const Bytes bytes = small_elf();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    exercise(cut);
    if (length < 64) CHECK_FALSE(ElfImage::parse(cut));
  }
}

TEST_CASE("every flipped bit gives an error or a value and reads nothing outside" *
          doctest::test_suite("loop")) {
  const Bytes bytes = small_elf();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes mutant = bytes;
      mutant[i] ^= static_cast<std::byte>(1U << bit);
      exercise(mutant);
      if (!ElfImage::parse(mutant)) ++refused;
    }
  }
  CHECK(refused > 0);
}

template <class T>
void put(Bytes& bytes, std::size_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

// Returns an image that ends with the bytes of `content`. Its last `tables` sections are symbol
// tables of these bytes. `names` holds the names of sections and symbols.
Bytes elf_of(std::size_t tables, ByteView content, ByteView names) {
  const std::size_t sections_at = sizeof(Elf64_Ehdr);
  const std::size_t names_at = sections_at + (tables + 1) * sizeof(Elf64_Shdr);
  Bytes bytes(names_at);
  bytes.insert(bytes.end(), names.begin(), names.end());
  bytes.insert(bytes.end(), content.begin(), content.end());
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sections_at;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(tables + 1);
  put(bytes, 0, header);
  for (std::size_t i = 0; i <= tables; ++i) {
    Elf64_Shdr section{};
    section.sh_name = i == 0 ? 0 : 1;
    section.sh_type = i == 0 ? SHT_STRTAB : SHT_SYMTAB;
    section.sh_offset = i == 0 ? names_at : names_at + names.size();
    section.sh_size = i == 0 ? names.size() : content.size();
    put(bytes, sections_at + i * sizeof(Elf64_Shdr), section);
  }
  return bytes;
}

Bytes name_of(std::size_t length) {
  Bytes names(length + 2, std::byte{'a'});
  names.front() = names.back() = std::byte{0};
  return names;
}

Bytes symbols_of(std::size_t count) {
  Bytes content(count * sizeof(Elf64_Sym));
  Elf64_Sym symbol{};
  symbol.st_name = 1;
  for (std::size_t i = 0; i < count; ++i)
    put(content, i * sizeof(Elf64_Sym), symbol);
  return content;
}

std::string refusal(const Bytes& image) {
  const auto elf = ElfImage::parse(image);
  if (!elf) return elf.error().message;
  const auto symbols = elf->symbols();
  return symbols ? std::string() : symbols.error().message;
}

TEST_CASE("an image that says one thing very often is refused at once") {
  using std::string;
  CHECK(refusal(elf_of(1, symbols_of(100), name_of(8000))).empty());
  // Each file has a megabyte, and would take gigabytes without limits.
  CHECK(refusal(elf_of(65'000, symbols_of(40'000), name_of(10))).find("two symbol tables") != string::npos);
  CHECK(refusal(elf_of(1, symbols_of(40'000), name_of(200'000))).find("more than 64 KiB") != string::npos);
  CHECK(refusal(elf_of(1, symbols_of(40'000), name_of(60'000))).find("more than 16 MiB") != string::npos);
  CHECK(refusal(elf_of(65'000, {}, name_of(60'000))).find("more than 16 MiB") != string::npos);
}

TEST_CASE("a name ends before its table does") {
  Bytes names = name_of(20);
  names.back() = std::byte{'a'};
  CHECK(refusal(elf_of(1, symbols_of(1), names)).find("has no end") != std::string::npos);
  names = name_of(200'000);
  names.back() = std::byte{'a'};
  CHECK(refusal(elf_of(1, symbols_of(1), names)).find("more than 64 KiB") != std::string::npos);
  CHECK(refusal(elf_of(1, symbols_of(1), name_of(65'536))).empty());
  CHECK_FALSE(refusal(elf_of(1, symbols_of(1), name_of(65'537))).empty());
}

TEST_CASE("offsets near the end of the number range are refused") {
  Bytes bytes = small_elf();
  for (std::size_t i = 0x28; i < 0x30; ++i)
    bytes[i] = std::byte{0xff};  // e_shoff
  CHECK_FALSE(ElfImage::parse(bytes));
}

}  // namespace
}  // namespace cubinet
