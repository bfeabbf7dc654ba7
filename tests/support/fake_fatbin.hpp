// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstdint>
#include <vector>

namespace cubinet::test {

enum class FatbinPacking { none, lz4, zstd };

struct FakeFatbinPart {
  std::uint16_t kind = 2;  // 1 PTX, 2 ELF, 8 LTO IR
  Bytes image;
  FatbinPacking packing = FatbinPacking::none;
};

// Returns a fatbinary with the layout of CUDA 13's `fatbinary`.
Bytes make_fake_fatbin(const std::vector<FakeFatbinPart>& parts);

}  // namespace cubinet::test
