// SPDX-License-Identifier: Apache-2.0
#include "lz4_block.hpp"

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/spec/fatbin.hpp>

#include <zstd.h>

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

constexpr std::uint32_t kFatbinMagic = 0xba55ed50;
constexpr std::uint16_t kFatbinVersion = 1;
constexpr std::size_t kFatbinHeadBytes = 16;
constexpr std::size_t kElementHeadBytes = 64;
constexpr std::size_t kMaximumElements = 256;
constexpr std::uint64_t kMaximumUnpackedBytes = std::uint64_t{256} << 20;

constexpr std::uint16_t kPtxElement = 1;
constexpr std::uint16_t kElfElement = 2;
constexpr std::uint16_t kNvvmElement = 8;

constexpr std::uint64_t kPackedByLz4 = 0x2000;
constexpr std::uint64_t kPackedByZstd = 0x8000;

Error damaged_fatbin(const std::string& reason) {
  return Error{ErrorCode::corruption, "not a usable fatbinary: " + reason, "build or fetch the file again"};
}

// The head of an element, as `fatbinary` of CUDA 11 to 13 writes it:
//   u16 kind, u16 version, u32 head bytes, u64 bytes that follow it,
//   u32 bytes of these that are packed, u32, u16 x 2 version, u32 SM number, u32 x 2 name,
//   u64 flags, u64, u64 unpacked bytes
struct ElementHead {
  std::uint16_t kind = 0;
  std::uint32_t head_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint32_t packed_bytes = 0;
  std::uint64_t flags = 0;
  std::uint64_t unpacked_bytes = 0;
};

Result<ElementHead> read_element_head(ByteReader& reader) {
  ElementHead element;
  CUBINET_TRY_ASSIGN(element.kind, reader.u16());
  CUBINET_TRY(reader.u16());
  CUBINET_TRY_ASSIGN(element.head_bytes, reader.u32());
  CUBINET_TRY_ASSIGN(element.bytes, reader.u64());
  CUBINET_TRY_ASSIGN(element.packed_bytes, reader.u32());
  CUBINET_TRY(reader.raw(20));
  CUBINET_TRY_ASSIGN(element.flags, reader.u64());
  CUBINET_TRY(reader.raw(8));
  CUBINET_TRY_ASSIGN(element.unpacked_bytes, reader.u64());
  return element;
}

Result<Bytes> unpack_element(const ElementHead& element, ByteView stored) {
  const bool lz4 = (element.flags & kPackedByLz4) != 0;
  const bool zstd = (element.flags & kPackedByZstd) != 0;
  if (!lz4 && !zstd) {
    // No known packing applies, and no unpacked size is stated.
    if (element.packed_bytes == 0 && element.unpacked_bytes == 0) return Bytes(stored.begin(), stored.end());
    return Error{ErrorCode::unsupported, "the fatbinary is packed in a way that is not known here",
                 "build it with `nvcc --no-compress`"};
  }
  if (lz4 && zstd) return damaged_fatbin("an element is packed in two ways");
  if (element.packed_bytes == 0 || element.packed_bytes > stored.size())
    return damaged_fatbin("an element is shorter than it says");
  const ByteView packed = stored.first(element.packed_bytes);
  const auto size = static_cast<std::size_t>(element.unpacked_bytes);
  if (lz4) {
    auto unpacked = unpack_lz4_block(packed, size);
    if (!unpacked) return damaged_fatbin("an element cannot be unpacked (LZ4)");
    return *std::move(unpacked);
  }
  Bytes unpacked(size);
  const std::size_t got = ZSTD_decompress(unpacked.data(), unpacked.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != size) return damaged_fatbin("an element cannot be unpacked (zstd)");
  return unpacked;
}

std::string name_of_element(std::uint16_t kind) {
  return kind == kNvvmElement ? "LTO IR" : "images of kind " + std::to_string(kind);
}

Error nothing_to_load(const std::set<std::string>& others) {
  return Error{ErrorCode::invalid_argument,
               "the fatbinary holds neither a cubin nor PTX" +
                   (others.empty() ? "" : " but " + join({others.begin(), others.end()}, " and ")),
               "build it for real targets, as -gencode arch=compute_90,code=sm_90"};
}

}  // namespace

bool is_fatbin(ByteView file) {
  const auto magic = ByteReader(file).u32();
  return magic && *magic == kFatbinMagic;
}

Result<std::vector<FatbinElement>> read_fatbin(ByteView file) {
  if (!is_fatbin(file)) return damaged_fatbin("it does not begin as one");
  if (file.size() < kFatbinHeadBytes) return damaged_fatbin("it ends within its head");
  ByteReader head(file.first(kFatbinHeadBytes).subspan(4));
  CUBINET_TRY_ASSIGN(const std::uint16_t version, head.u16());
  CUBINET_TRY_ASSIGN(const std::uint16_t head_bytes, head.u16());
  CUBINET_TRY_ASSIGN(const std::uint64_t bytes, head.u64());
  if (version != kFatbinVersion) {
    return Error{ErrorCode::unsupported,
                 "the fatbinary has version " + std::to_string(version) + ", 1 is known here",
                 "take the cubins out of it: `cuobjdump -xelf all FILE`"};
  }
  if (head_bytes < kFatbinHeadBytes || head_bytes > file.size() || file.size() - head_bytes < bytes)
    return damaged_fatbin("it is shorter than it says");
  ByteView rest = file.subspan(head_bytes).first(static_cast<std::size_t>(bytes));
  const ByteView behind = file.subspan(head_bytes + rest.size());
  if (std::any_of(behind.begin(), behind.end(), [](std::byte byte) { return byte != std::byte{0}; }))
    return damaged_fatbin("there is something behind its end");

  std::vector<FatbinElement> elements;
  std::set<std::string> others;
  std::uint64_t unpacked_bytes = 0;
  for (std::size_t count = 0; !rest.empty(); ++count) {
    if (count == kMaximumElements) return damaged_fatbin("it has more than 256 elements");
    if (rest.size() < kElementHeadBytes) return damaged_fatbin("it ends within the head of an element");
    ByteReader reader(rest);
    CUBINET_TRY_ASSIGN(const ElementHead element, read_element_head(reader));
    if (element.head_bytes < kElementHeadBytes || element.head_bytes > rest.size() ||
        rest.size() - element.head_bytes < element.bytes)
      return damaged_fatbin("an element is not inside it");
    const ByteView stored = rest.subspan(element.head_bytes).first(static_cast<std::size_t>(element.bytes));
    rest = rest.subspan(element.head_bytes + stored.size());
    if (element.kind != kPtxElement && element.kind != kElfElement) {
      others.insert(name_of_element(element.kind));
      continue;
    }
    const std::uint64_t image_bytes = std::max(element.unpacked_bytes, element.bytes);
    unpacked_bytes += image_bytes;  // each size is checked before the next is added
    if (image_bytes > kMaximumImageBytes || unpacked_bytes > kMaximumUnpackedBytes)
      return damaged_fatbin("an image has more than 64 MiB, or all of them more than 256");
    FatbinElement& added = elements.emplace_back();
    added.kind = element.kind == kPtxElement ? ImageKind::ptx : ImageKind::cubin;
    CUBINET_TRY_ASSIGN(added.image, unpack_element(element, stored));
    while (added.kind == ImageKind::ptx && !added.image.empty() && added.image.back() == std::byte{0})
      added.image.pop_back();
  }
  if (elements.empty()) return nothing_to_load(others);
  return elements;
}

}  // namespace cubinet
