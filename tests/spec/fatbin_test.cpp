// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/fake_fatbin.hpp"
#include "support/sampled.hpp"
#include "support/text.hpp"

#include <cubinet/spec/fatbin.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace cubinet {
namespace {

using test::contains;
using test::FatbinPacking;

// `nvcc --fatbin -gencode arch=compute_90,code=compute_90` of CUDA 13.0, packed in each of its
// modes, of the source
//   extern "C" __global__ void k(int* p){ *p = 1; }
constexpr const char* kPlainFatbin =
    "50ed55ba010010005001000000000000010001015000000000010000000000000000000040000000000009005a0000000000"
    "000000000000110000000000000000000000000000000000000000000000480000000000000000000000000000000a0a0a0a"
    "0a0a0a0a2e76657273696f6e20392e300a2e74617267657420736d5f39300a2e616464726573735f73697a652036340a0a0a"
    "0a2e76697369626c65202e656e747279206b280a2e706172616d202e753634206b5f706172616d5f300a290a7b0a2e726567"
    "202e6233322025723c323e3b0a2e726567202e623634202572643c333e3b0a0a0a6c642e706172616d2e7536342025726431"
    "2c205b6b5f706172616d5f305d3b0a637674612e746f2e676c6f62616c2e75363420257264322c20257264313b0a6d6f762e"
    "753332202572312c20313b0a73742e676c6f62616c2e753332205b257264325d2c202572313b0a7265743b0a0a7d0a0a0000"
    "0000";
constexpr const char* kZstdFatbin =
    "50ed55ba0100100008010000000000000100010150000000b800000000000000b400000040000000000009005a0000000000"
    "00000000000011800000000000000000000000000000fd000000000000004800000000000000000000000000000028b52ffd"
    "20fd5d050092091f1970790330108a0d1d5d32197609ff6f146828c94cb8f45729360073c7fceed7c7b916f3cca2f811078d"
    "904525b7aec79b45fc1ea70903734999114626ca6b0ea6067d2090b7f4d599e3810b08a74e14cc9b8a355ecec2d45abdd57b"
    "3f85a69d89d2bf4d0badfd2a65742e1648d9be2fd5789d0b5fbab2a6ad9f3907132850c2e50e90ca6c3d008fcf25e7d82638"
    "0b6e4099e6353cd9a518a21a1322c5c7c6e9b6a16e125574110200000000";
constexpr const char* kLz4Fatbin =
    "50ed55ba0100100030010000000000000100010150000000e000000000000000dc00000040000000000009005a0000000000"
    "00000000000011200000000000000000000000000000fd0000000000000048000000000000000000000000000000130a0100"
    "f01c2e76657273696f6e20392e300a2e74617267657420736d5f39300a2e616464726573735f73697a652036343100f1122e"
    "76697369626c65202e656e747279206b280a2e706172616d202e753634206b5f0d00f4085f300a290a7b0a2e726567202e62"
    "33322025723c323e3b1100f2003634202572643c333e3b0a0a0a6c64410001400075257264312c205b4700f4025d3b0a6376"
    "74612e746f2e676c6f62616c260021322c2c00713b0a6d6f762e75620085312c20313b0a73742a00903332205b257264325d"
    "2c00d0313b0a7265743b0a0a7d0a0a0000000000";

Bytes from_hex(std::string_view hex) {
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) << 4U | digit(hex[i + 1])));
  return bytes;
}

template <class Integer>
Bytes patched(Bytes file, std::size_t offset, Integer value) {
  std::memcpy(file.data() + offset, &value, sizeof(value));
  return file;
}

Bytes text_bytes(std::string_view text) {
  const ByteView bytes = as_bytes(text);
  return Bytes(bytes.begin(), bytes.end());
}

Bytes small_fatbin(FatbinPacking packing) {
  return test::make_fake_fatbin({{1, text_bytes(".version 9.0 .target sm_90 .entry k() { ret; }"), packing},
                                 {2,
                                  text_bytes("\x7f"
                                             "ELF and so on, and so on, and so on"),
                                  packing}});
}

TEST_CASE("what CUDA packs in each of its ways is one text") {
  const auto plain = read_fatbin(from_hex(kPlainFatbin));
  REQUIRE_MESSAGE(plain.has_value(), plain.error().to_line());
  REQUIRE(plain->size() == 1);
  CHECK(plain->front().kind == ImageKind::ptx);
  CHECK(contains(std::string(as_text(plain->front().image)), ".visible .entry k("));
  CHECK(plain->front().image.back() != std::byte{0});
  for (const char* packed : {kZstdFatbin, kLz4Fatbin}) {
    const auto unpacked = read_fatbin(from_hex(packed));
    REQUIRE_MESSAGE(unpacked.has_value(), unpacked.error().to_line());
    CHECK(as_text(unpacked->front().image) == as_text(plain->front().image));
  }
}

TEST_CASE("images come out in their order and as they were, however they are packed") {
  const Bytes cubin = test::make_fake_cubin({});
  for (const FatbinPacking packing : {FatbinPacking::none, FatbinPacking::lz4, FatbinPacking::zstd}) {
    const auto elements = read_fatbin(test::make_fake_fatbin(
        {{2, cubin, packing}, {8, text_bytes("IR"), packing}, {1, text_bytes("PTX"), packing}}));
    REQUIRE_MESSAGE(elements.has_value(), elements.error().to_line());
    REQUIRE(elements->size() == 2);
    CHECK((*elements)[0].kind == ImageKind::cubin);
    CHECK((*elements)[0].image == cubin);
    CHECK((*elements)[1].kind == ImageKind::ptx);
    CHECK(as_text((*elements)[1].image) == "PTX");
  }
}

TEST_CASE("a fatbinary without cubin or PTX says what it holds") {
  const auto read = read_fatbin(test::make_fake_fatbin({{8, text_bytes("IR")}, {64, text_bytes("?")}}));
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::invalid_argument);
  CHECK(contains(read.error().message, "LTO IR and images of kind 64"));
  CHECK(read_fatbin(test::make_fake_fatbin({})).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("what a later release may do is unsupported, and not damage") {
  const Bytes file = small_fatbin(FatbinPacking::none);
  CHECK(read_fatbin(patched<std::uint16_t>(file, 4, 2)).error().code == ErrorCode::unsupported);
  // Packed by an unknown method.
  const Bytes packed = small_fatbin(FatbinPacking::zstd);
  CHECK(read_fatbin(patched<std::uint64_t>(packed, 16 + 40, 0x20011)).error().code == ErrorCode::unsupported);
}

TEST_CASE("sizes that cannot be are damage, before memory is asked for") {
  const Bytes file = small_fatbin(FatbinPacking::zstd);
  for (const std::uint64_t huge : {std::uint64_t{65} << 20, std::uint64_t{1} << 62, UINT64_MAX}) {
    CHECK(read_fatbin(patched(file, 8, huge)).error().code == ErrorCode::corruption);
    CHECK(read_fatbin(patched(file, 16 + 8, huge)).error().code == ErrorCode::corruption);
    CHECK(read_fatbin(patched(file, 16 + 56, huge)).error().code == ErrorCode::corruption);
  }
  CHECK(read_fatbin(patched<std::uint16_t>(file, 6, 0)).error().code == ErrorCode::corruption);
  CHECK(read_fatbin(patched<std::uint32_t>(file, 16 + 4, 0)).error().code == ErrorCode::corruption);
  CHECK(read_fatbin(patched<std::uint32_t>(file, 16 + 4, UINT32_MAX)).error().code == ErrorCode::corruption);
  CHECK(read_fatbin(patched<std::uint32_t>(file, 16 + 16, UINT32_MAX)).error().code == ErrorCode::corruption);
  Bytes longer = file;
  longer.resize(longer.size() + 8);
  CHECK(read_fatbin(longer));  // padding of a section
  longer.back() = std::byte{1};
  CHECK(read_fatbin(longer).error().code == ErrorCode::corruption);
  std::vector<test::FakeFatbinPart> many(257, {1, text_bytes("PTX")});
  CHECK(read_fatbin(test::make_fake_fatbin(many)).error().code == ErrorCode::corruption);
}

TEST_CASE("every truncation and every changed byte of a fatbinary gives images or an error" *
          doctest::test_suite("loop")) {
  for (const FatbinPacking packing : {FatbinPacking::none, FatbinPacking::lz4, FatbinPacking::zstd}) {
    const Bytes file = small_fatbin(packing);
    for (const std::size_t length : test::sampled(file.size(), 4))
      CHECK_FALSE(read_fatbin(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length))));
    for (const std::size_t i : test::sampled(file.size(), 8)) {
      for (unsigned value = 0; value < 256; ++value)
        static_cast<void>(read_fatbin(patched(file, i, static_cast<std::uint8_t>(value))));
    }
  }
}

}  // namespace
}  // namespace cubinet
