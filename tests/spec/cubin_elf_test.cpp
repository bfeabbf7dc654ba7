// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <initializer_list>

namespace cubinet {
namespace {

Bytes cubin_for(SmTarget target) {
  return test::make_fake_cubin({target, {{"first", 16}, {"second", 0}}});
}

TEST_CASE("the target and the kernels of an image are told") {
  for (const SmTarget target : known_targets()) {
    const auto inspection = inspect_cubin(cubin_for(target));
    REQUIRE(inspection);
    CHECK(inspection->target_name() == target.to_string());
    CHECK(release_of_cubin(cubin_for(target)) == "13.0");
    CHECK(inspection->kernels == std::vector<std::string>{"first", "second"});
    CHECK(inspection->argument_bytes == std::vector<std::uint32_t>{16, 0});
  }
}

TEST_CASE("an image listed under another target is refused, whichever pair it is") {
  for (const SmTarget built : known_targets()) {
    const Bytes image = cubin_for(built);
    for (const SmTarget listed : known_targets()) {
      INFO(built.to_string(), " listed as ", listed.to_string());
      CHECK(check_cubin(image, listed, {"first"}).has_value() == (built == listed));
    }
  }
}

// Returns the only argument of the first kernel after its attributes are changed from `before` to
// `after`.
std::uint32_t only_argument_after(std::initializer_list<unsigned> before,
                                  std::initializer_list<unsigned> after) {
  constexpr SmTarget kTarget{9, 0, TargetKind::specific};
  Bytes image = cubin_for(kTarget);
  const auto at = std::search(image.begin(), image.end(), before.begin(), before.end(),
                              [](std::byte a, unsigned b) { return std::to_integer<unsigned>(a) == b; });
  REQUIRE(at != image.end());
  std::transform(after.begin(), after.end(), at, [](unsigned value) { return std::byte(value); });
  OnlyArguments arguments;
  CHECK(check_cubin(image, kTarget, {"first"}, &arguments));
  REQUIRE(arguments.size() == 1);
  return arguments.front();
}

TEST_CASE("the only argument of a kernel is told in the order of the symbols") {
  for (const SmTarget target : known_targets()) {
    OnlyArguments arguments;
    REQUIRE(check_cubin(cubin_for(target), target, {"second", "first"}, &arguments));
    CHECK(arguments == OnlyArguments{0, 16});
  }
}

TEST_CASE("an argument that does not fill the bytes of all, or is not of the known form, is not told") {
  CHECK(only_argument_after({3, 0x19, 16, 0}, {3, 0x19, 16, 0}) == 16);
  // One more argument of another form.
  CHECK(only_argument_after({3, 0x19, 16, 0}, {3, 0x19, 24, 0}) == 0);
  CHECK(only_argument_after({3, 0x19, 16, 0}, {3, 0x18, 16, 0}) == 0);  // no total size
  CHECK(only_argument_after({3, 0x19, 16, 0}, {9, 0x19, 16, 0}) == 0);  // damaged
  CHECK(only_argument_after({4, 0x17, 12, 0}, {4, 0x18, 12, 0}) == 0);
}

TEST_CASE("a symbol that is not there is named") {
  const auto checked =
      check_cubin(cubin_for({9, 0, TargetKind::specific}), {9, 0, TargetKind::specific}, {"third"});
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message.find("third") != std::string::npos);
}

// Returns an image without other hints, with e_flags as CUDA 12.9 writes it (bit 3 marks a specific
// target), or as 12.8 and earlier did (ABI version 7, the number in the low byte).
Bytes without_hints(std::uint32_t flags, std::uint8_t abi_version) {
  Bytes image = cubin_for({10, 0, TargetKind::baseline});
  for (unsigned i = 0; i < 4; ++i)
    image[0x30 + i] = static_cast<std::byte>((flags >> (8 * i)) & 0xffU);
  image[8] = static_cast<std::byte>(abi_version);
  const std::string_view text = as_text(image);
  for (std::string_view hint : {".nv.compat", ".note.nv.tkinfo"}) {
    const std::size_t at = text.find(hint);
    if (at != std::string_view::npos) image[at + 1] = static_cast<std::byte>('x');
  }
  return image;
}

TEST_CASE("the three ways in which CUDA releases mark a target are all read") {
  CHECK(inspect_cubin(without_hints(0x0600640a, 8))->target_name() == "sm_100a");
  CHECK(inspect_cubin(without_hints(0x0600670a, 8))->target_name() == "sm_103a");
  CHECK(inspect_cubin(without_hints(0x1000670c, 8))->target_name() == "sm_103a");
  CHECK(inspect_cubin(without_hints(0x06006402, 8))->target_name() == "sm_100?");
  CHECK(inspect_cubin(without_hints(0x005a0d5a, 7))->target_name() == "sm_90a");
  CHECK(inspect_cubin(without_hints(0x00500550, 7))->target_name() == "sm_80");
}

// Returns the image with new content of one of its sections, which is stored after all the others.
Bytes with_section(Bytes image, std::string_view name, const Bytes& content) {
  const auto elf = ElfImage::parse(image);
  REQUIRE(elf);
  const auto& sections = elf->sections();
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const ElfSection& section) { return section.name == name; });
  REQUIRE(found != sections.end());
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof(header));
  const auto index = static_cast<std::size_t>(found - sections.begin());
  const std::size_t place = header.e_shoff + index * sizeof(Elf64_Shdr);
  Elf64_Shdr section;
  std::memcpy(&section, image.data() + place, sizeof(section));
  section.sh_offset = image.size();
  section.sh_size = content.size();
  std::memcpy(image.data() + place, &section, sizeof(section));
  image.insert(image.end(), content.begin(), content.end());
  return image;
}

// Returns a note of "NVIDIA Corp" with a type and a payload.
std::string note(std::uint32_t type, std::string payload) {
  while (payload.size() % 4 != 0)
    payload += '\0';
  std::string bytes;
  for (const std::size_t field : {std::size_t{12}, payload.size(), std::size_t{type}}) {
    for (unsigned i = 0; i < 4; ++i)
      bytes += static_cast<char>((field >> (8 * i)) & 0xffU);
  }
  return bytes + std::string("NVIDIA Corp\0", 12) + payload;
}

Bytes bytes_of(std::string_view text) {
  return Bytes(as_bytes(text).begin(), as_bytes(text).end());
}

TEST_CASE("attributes are read by tag and length, as CUDA 13 0 and 13 5 write them") {
  const Bytes image = with_section(cubin_for({10, 7, TargetKind::baseline}), ".note.nv.tkinfo", {});
  const auto marked = [&](const char* attributes) {
    return inspect_cubin(with_section(image, ".nv.compat", *from_hex(attributes)));
  };
  CHECK(marked("0209010002020100020505000307010102030000020601"
               "00040b08000000000000000000")
            ->target_name() == "sm_107a");
  CHECK(marked("02090100020c000002020100030d030102030000040b08000000000000000000030e4004")->target_name() ==
        "sm_107a");
  const auto other = marked("02090000020c000002020100030d030102030000040b08000000000000000000030e4004");
  CHECK(other->target_name() == "sm_107?");
  CHECK(other->excludes_specific);
  // The attribute is found after others of any length, but not within one, and not if it has
  // another length.
  CHECK(marked("040b08000209010002090100"
               "020c000002090100")
            ->kind == TargetKind::specific);
  CHECK_FALSE(marked("040b080002090100020901000300000001")->kind.has_value());
  CHECK_FALSE(marked("0409040001000000")->excludes_specific);
}

TEST_CASE("the toolkit note is found by owner and type, among others and whatever precedes its strings") {
  const Bytes image = with_section(cubin_for({10, 7, TargetKind::baseline}), ".nv.compat", {});
  const auto noted = [&](const std::string& notes) {
    return with_section(image, ".note.nv.tkinfo", bytes_of(notes));
  };
  const std::string strings =
      std::string("\0ptxas\0Cuda compilation tools, release 13.7, V13.7.1\0", 53) + "-arch sm_107f ";
  const std::string linker = std::string(24, '\1') + "nvlink -o sm_90a";
  const Bytes found =
      noted(note(2000, linker) + note(1000, "-arch sm_100 ") + note(2000, std::string(40, '\1') + strings));
  CHECK(inspect_cubin(found)->target_name() == "sm_107f");
  CHECK(release_of_cubin(found) == "13.7");
  CHECK(release_of_cubin(noted({})).empty());
  CHECK(release_of_cubin({}).empty());
  CHECK(inspect_cubin(noted(note(1000, strings)))->target_name() == "sm_107?");
  std::string foreign = note(2000, strings);
  foreign.replace(12, 6, "SOMEBO");
  CHECK(inspect_cubin(noted(foreign))->target_name() == "sm_107?");
  CHECK(inspect_cubin(noted(note(2000, strings).substr(0, 60)))->target_name() == "sm_107?");
}

TEST_CASE("where the suffix cannot be told the metadata is believed, the number never") {
  const auto inspection = inspect_cubin(without_hints(0x06006402, 8));
  REQUIRE(inspection);
  CHECK_FALSE(contradicts(*inspection, {10, 0, TargetKind::family}));
  CHECK_FALSE(contradicts(*inspection, {10, 0, TargetKind::baseline}));
  CHECK(contradicts(*inspection, {10, 3, TargetKind::family}));
}

TEST_CASE("a file of more kernels than any has is refused") {
  test::FakeCubin description;
  description.code_bytes = 4;
  description.kernels.assign(4096, {"same", 0});
  CHECK(inspect_cubin(test::make_fake_cubin(description))->kernels.size() == 4096);
  description.kernels.push_back({"one_more", 0});
  const auto refused = inspect_cubin(test::make_fake_cubin(description));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("4096 kernels") != std::string::npos);
}

TEST_CASE("what is no cubin is damaged, not a crash") {
  CHECK(inspect_cubin({}).error().code == ErrorCode::corruption);
  CHECK(inspect_cubin(as_bytes("#!/bin/sh")).error().code == ErrorCode::corruption);
  Bytes other = cubin_for({9, 0, TargetKind::specific});
  other[18] = std::byte{62};  // x86-64
  CHECK(inspect_cubin(other).error().message.find("not for CUDA") != std::string::npos);
}

TEST_CASE("a file that names no architecture is not usable") {
  for (const auto& [flags, abi] : {std::pair{0x0U, 7U}, std::pair{0x800U, 7U}, std::pair{0x06000002U, 8U}}) {
    const auto inspection = inspect_cubin(without_hints(flags, static_cast<std::uint8_t>(abi)));
    REQUIRE_FALSE(inspection.has_value());
    CHECK(inspection.error().code == ErrorCode::corruption);
    CHECK(inspection.error().message.find("no GPU architecture") != std::string::npos);
  }
}

TEST_CASE("every truncation and every flipped bit gives an answer" * doctest::test_suite("loop")) {
  const Bytes image = cubin_for({9, 0, TargetKind::specific});
  for (std::size_t length = 0; length < image.size(); ++length) {
    static_cast<void>(inspect_cubin(ByteView(image).first(length)));
  }
  for (std::size_t i = 0; i < image.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes mutant = image;
      mutant[i] ^= static_cast<std::byte>(1U << bit);
      static_cast<void>(inspect_cubin(mutant));
    }
  }
  CHECK_FALSE(inspect_cubin(ByteView(image).first(63)));
}

}  // namespace
}  // namespace cubinet
