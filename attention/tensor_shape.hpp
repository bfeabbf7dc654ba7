// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet {

// No tensor has as many elements; below it no size in bits passes 2^63.
inline constexpr std::uint64_t kLargestExtent = std::uint64_t{1} << 56U;
inline constexpr std::uint64_t kTensorAlignment = 16;
inline constexpr std::uint64_t kWordBytes = 4;

// A tensor of the innermost row and three dimensions outside it, and what its contiguous strides would be.
struct TensorShape {
  std::array<std::uint64_t, 3> sizes = {1, 1, 1};
  std::uint64_t row = 1;  // elements
  std::uint32_t element_bits = 16;
  std::uint64_t contiguous_bytes = 0;
  std::array<bool, 3> counts_on_device = {};  // whose size here is the least that it may be

  // Whether a stride is ever taken: that of one element may be anything.
  bool is_stepped(std::size_t dimension) const {
    return sizes[dimension] != 1 || counts_on_device[dimension];
  }
  static TensorShape of(std::array<std::uint64_t, 3> sizes, std::uint64_t row, DataType type);
  // Bytes from the first element to behind the last under these strides.
  std::uint64_t extent(const std::array<std::int64_t, 3>& strides) const;
  // Whether two rows share elements; also said of rows that interleave, which nobody lays out.
  // REQUIRES: strides that check_strided() takes.
  bool overlaps(const std::array<std::int64_t, 3>& strides) const;
};

// invalid_argument that names the tensor, what it is and what it may be. They allocate only where something
// is wrong.
Error wrong_tensor(std::string_view name, const std::string& what);
Result<void> check_place(std::string_view name, const DeviceTensor& tensor, std::uint64_t bytes,
                         std::uint64_t alignment);
Result<void> check_contiguous(std::string_view name, const DeviceTensor& tensor);
Result<void> check_strided(std::string_view name, const DeviceTensor& tensor, const TensorShape& shape);
// Of what is written, each row once.
Result<void> check_distinct_rows(std::string_view name, const DeviceTensor& tensor, const TensorShape& shape);

}  // namespace cubinet
