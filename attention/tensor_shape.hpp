// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet {

// No tensor has this many elements. Below it no size in bits exceeds 2^63.
inline constexpr std::uint64_t kLargestExtent = std::uint64_t{1} << 56U;
inline constexpr std::uint64_t kTensorAlignment = 16;
inline constexpr std::uint64_t kWordBytes = 4;

// A tensor with its innermost row and three outer dimensions, and its contiguous strides.
struct TensorShape {
  std::array<std::uint64_t, 3> sizes = {1, 1, 1};
  std::uint64_t row = 1;  // elements
  std::uint32_t element_bits = 16;
  std::uint64_t contiguous_bytes = 0;
  // Dimensions whose size is known only on the device: at most one. `sizes` then has 1, and
  // `most_counted` the maximum.
  std::array<bool, 3> counts_on_device = {};
  std::uint64_t most_counted = UINT64_MAX;

  // Returns whether the stride is used. The stride of a dimension of size 1 may be anything.
  bool is_stepped(std::size_t dimension) const {
    return sizes[dimension] != 1 || counts_on_device[dimension];
  }
  static TensorShape of(std::array<std::uint64_t, 3> sizes, std::uint64_t row, DataType type);
  // Returns the bytes from the first element to the end of the last with these strides.
  std::uint64_t extent(const std::array<std::int64_t, 3>& strides) const;
  // Returns how many elements of the dimension that is counted on the device a tensor has memory
  // for, at least 1 and at most `most_counted`. REQUIRES: a tensor that check_strided() accepts.
  std::uint64_t counted(const DeviceTensor& tensor) const;
  // Returns whether two rows of a tensor with these sizes share elements. Also returns true for
  // interleaved rows, a layout that is not used. REQUIRES: strides that check_strided() accepts.
  bool overlaps(const std::array<std::int64_t, 3>& strides) const;
  // Returns whether two rows of the memory of a strided tensor share elements.
  bool overlaps(const DeviceTensor& tensor) const;
};

// Return an error (invalid_argument) that names the tensor, its value and the allowed values.
// Allocate only for an error.
Error wrong_tensor(std::string_view name, const std::string& what);
Result<void> check_place(std::string_view name, const DeviceTensor& tensor, std::uint64_t bytes,
                         std::uint64_t alignment);
Result<void> check_contiguous(std::string_view name, const DeviceTensor& tensor);
Result<void> check_strided(std::string_view name, const DeviceTensor& tensor, const TensorShape& shape);
// Checks a tensor that is written, each row once.
Result<void> check_distinct_rows(std::string_view name, const DeviceTensor& tensor, const TensorShape& shape);

}  // namespace cubinet
