// SPDX-License-Identifier: Apache-2.0
#include "support/fake_fatbin.hpp"

#include <cubinet/base/byte_stream.hpp>

#include <zstd.h>

#include <algorithm>

namespace cubinet::test {
namespace {

// Returns the bytes as one LZ4 sequence of literals only.
Bytes packed_by_lz4(ByteView image) {
  ByteWriter writer;
  const std::size_t first = std::min<std::size_t>(image.size(), 15);
  writer.u8(static_cast<std::uint8_t>(first << 4U));
  if (first == 15) {
    std::size_t rest = image.size() - first;
    for (; rest >= 255; rest -= 255)
      writer.u8(255);
    writer.u8(static_cast<std::uint8_t>(rest));
  }
  writer.raw(image);
  return writer.take();
}

Bytes packed_by_zstd(ByteView image) {
  Bytes packed(ZSTD_compressBound(image.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), image.data(), image.size(), 3));
  return packed;
}

}  // namespace

Bytes make_fake_fatbin(const std::vector<FakeFatbinPart>& parts) {
  ByteWriter elements;
  for (const FakeFatbinPart& part : parts) {
    const bool packed = part.packing != FatbinPacking::none;
    Bytes stored = part.packing == FatbinPacking::lz4    ? packed_by_lz4(part.image)
                   : part.packing == FatbinPacking::zstd ? packed_by_zstd(part.image)
                                                         : part.image;
    const std::size_t stored_bytes = stored.size();
    stored.resize((stored.size() + 7) / 8 * 8);
    elements.u16(part.kind);
    elements.u16(0x101);
    elements.u32(64);
    elements.u64(stored.size());
    elements.u32(packed ? static_cast<std::uint32_t>(stored_bytes) : 0);
    elements.u32(0);
    elements.u16(8);
    elements.u16(1);
    elements.u32(90);
    elements.u64(0);  // name
    elements.u64(0x11U | (part.packing == FatbinPacking::lz4    ? 0x2000U
                          : part.packing == FatbinPacking::zstd ? 0x8000U
                                                                : 0U));
    elements.u64(0);
    elements.u64(packed ? part.image.size() : 0);
    elements.raw(stored);
  }
  ByteWriter file;
  file.u32(0xba55ed50);
  file.u16(1);
  file.u16(16);
  file.u64(elements.bytes().size());
  file.raw(elements.bytes());
  return file.take();
}

}  // namespace cubinet::test
