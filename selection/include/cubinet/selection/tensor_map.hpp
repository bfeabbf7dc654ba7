// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <array>
#include <cstdint>

namespace cubinet {

enum class TensorMapSwizzle : std::uint8_t { none = 0, bytes32 = 1, bytes64 = 2, bytes128 = 3 };

// What the driver's encoder of tiled tensor maps (cuTensorMapEncodeTiled) is given, fastest dimension first.
// Members beyond `rank` are not looked at.
struct TensorMapDescription {
  std::uint32_t element_bytes = 2;
  std::uint32_t rank = 2;
  std::uint64_t address = 0;                             // in global memory
  std::array<std::uint64_t, 5> sizes = {1, 1, 1, 1, 1};  // in elements
  std::array<std::uint64_t, 4> strides_bytes = {};       // of dimensions 1 to rank - 1; dimension 0 is dense
  std::array<std::uint32_t, 5> box = {1, 1, 1, 1, 1};    // in elements
  std::array<std::uint32_t, 5> element_strides = {1, 1, 1, 1, 1};
  TensorMapSwizzle swizzle = TensorMapSwizzle::none;
};

// The driver's rules without the driver (CUDA Driver API, cuTensorMapEncodeTiled, no interleave), so that a
// descriptor is refused with the field that is wrong rather than with CUDA_ERROR_INVALID_VALUE:
//   rank 1 to 5; element of 1, 2, 4 or 8 bytes; address a multiple of 16; sizes 1 to 2^32; strides multiples
//   of 16 below 2^40; box 1 to 256, its first row a multiple of 16 bytes and not wider than the swizzle; the
//   elements that it takes, 228 KiB at most; element strides 1 to 8.
// invalid_argument names dimension, value and rule.
Result<void> check_tensor_map(const TensorMapDescription& map);

// The widest swizzle whose span divides the box's first row; invalid_argument when none does.
Result<TensorMapSwizzle> swizzle_for(std::uint32_t box_row_bytes);

}  // namespace cubinet
