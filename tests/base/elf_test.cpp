// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/base/file_system.hpp>

#include <doctest/doctest.h>

#include <filesystem>

namespace cubinet {
namespace {

Bytes small_elf() {
  return test::make_fake_cubin({{9, 0, TargetKind::specific}, {{"first", 16}, {"second", 0}}});
}

// Everything that a caller could ask of an image, so that the loops below reach all of the parser.
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
  CHECK(elf->find_section(".nothing") == nullptr);
  const auto symbols = elf->symbols();
  REQUIRE(symbols);
  int found = 0;
  for (const ElfSymbol& symbol : *symbols)
    found += symbol.name == "first" || symbol.name == "second" ? 1 : 0;
  CHECK(found == 2);
}

TEST_CASE("the build id of a shared library is read") {
  const auto executable = std::filesystem::read_symlink("/proc/self/exe");
  const auto bytes = posix_file_system()->read(executable, kMaximumFileBytes);
  REQUIRE(bytes);
  const auto elf = ElfImage::parse(*bytes);
  REQUIRE(elf);
  const auto build_id = elf_build_id(*elf);
  REQUIRE(build_id);
  if (*build_id) CHECK((*build_id)->size() >= 8);  // a linker may be told to write none
  CHECK(elf->machine() != 190);
}

TEST_CASE("every truncation gives an error or a value and reads nothing outside") {
  const Bytes bytes = small_elf();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    exercise(cut);
    if (length < 64) CHECK_FALSE(ElfImage::parse(cut));
  }
}

TEST_CASE("every flipped bit gives an error or a value and reads nothing outside") {
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

TEST_CASE("offsets near the end of the number range are refused") {
  Bytes bytes = small_elf();
  for (std::size_t i = 0x28; i < 0x30; ++i)
    bytes[i] = std::byte{0xff};  // e_shoff
  CHECK_FALSE(ElfImage::parse(bytes));
}

}  // namespace
}  // namespace cubinet
