// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/spec/cubin_elf.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <elf.h>

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

TEST_CASE("a symbol that is not there is named") {
  const auto checked =
      check_cubin(cubin_for({9, 0, TargetKind::specific}), {9, 0, TargetKind::specific}, {"third"});
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message.find("third") != std::string::npos);
}

// e_flags as CUDA 12.9 writes it (bit 3 marks a specific target) and as 12.8 and before did (ABI version 7,
// the number in the low byte), put into an image that holds no other hint.
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

TEST_CASE("the mark of a specific target is found behind other attributes") {
  Bytes image = cubin_for({9, 0, TargetKind::specific});
  const std::size_t note = as_text(image).find(".note.nv.tkinfo");
  image[note + 1] = static_cast<std::byte>('x');
  const Bytes mark = *from_hex("02090100");
  const Bytes other = *from_hex("02020100");
  const auto at = std::search(image.begin(), image.end(), mark.begin(), mark.end());
  const auto offset = static_cast<std::uint64_t>(at - image.begin());
  std::copy(other.begin(), other.end(), at - 4);  // over the end of the note, which nobody reads now
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof(header));
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    std::byte* const place = image.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, place, sizeof(section));
    if (section.sh_offset != offset) continue;
    section.sh_offset -= other.size();
    section.sh_size += other.size();
    std::memcpy(place, &section, sizeof(section));
  }
  CHECK(inspect_cubin(image)->target_name() == "sm_90a");
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
