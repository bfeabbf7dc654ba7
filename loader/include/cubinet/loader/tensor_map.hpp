// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cubinet {

// The input of the driver's encoder of tiled tensor maps (cuTensorMapEncodeTiled), fastest
// dimension first. Fixed values: no interleave, L2 promotion of 128 bytes, zeros outside, every
// element (element strides of 1). Members beyond `rank` are ignored.
struct TensorMapDescription {
  // The element type, with the driver's numbers (CUtensorMapDataType).
  enum class Type : std::uint8_t {
    uint8 = 0,
    fp16 = 6,
    bf16 = 9,
    // 16 elements of 4 bits in 8 bytes of global memory, spread over 16 bytes of shared memory.
    padded_4bit = 14,
  };
  enum class Swizzle : std::uint8_t { none = 0, bytes32 = 1, bytes64 = 2, bytes128 = 3 };

  Type type = Type::bf16;
  Swizzle swizzle = Swizzle::none;
  std::uint32_t rank = 2;
  std::uint64_t address = 0;                             // in global memory
  std::array<std::uint64_t, 5> sizes = {1, 1, 1, 1, 1};  // in elements
  // The strides of dimensions 1 to rank - 1. Dimension 0 is dense.
  std::array<std::uint64_t, 4> strides_bytes = {};
  std::array<std::uint32_t, 5> box = {1, 1, 1, 1, 1};  // in elements

  friend bool operator==(const TensorMapDescription&, const TensorMapDescription&) = default;
};
std::uint32_t bits_of(TensorMapDescription::Type type);  // of an element in global memory

// Checks the driver's rules without the driver (CUDA Driver API, cuTensorMapEncodeTiled). The
// invalid_argument names dimension, value and rule, whereas the driver only returns
// CUDA_ERROR_INVALID_VALUE. The rules are:
//   rank 1 to 5; address a multiple of 16; sizes 1 to 2^32; strides multiples of 16 below 2^40;
//   box 1 to 256, its first row a multiple of 16 bytes and not wider than the swizzle;
//   the box 228 KiB at most. For padded_4bit: address and strides multiples of 32, the first size
//   a multiple of 128, the box's first row 128 elements, rank 2 at least.
Result<void> check_tensor_map(const TensorMapDescription& map);

// Returns the driver's opaque encoding. Kernel arguments must align it to 64 bytes. Errors:
// unsupported if the driver has no encoder (before CUDA 12.0) or the device no tensor maps (before
// 9.0); invalid_argument as for check_tensor_map. Allocates only on failure. Thread-safe.
Result<std::array<std::byte, 128>> encode_tensor_map(const Device& device, const TensorMapDescription& map);

}  // namespace cubinet
