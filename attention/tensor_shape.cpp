// SPDX-License-Identifier: Apache-2.0
#include "tensor_shape.hpp"

#include <algorithm>

namespace cubinet {

Error wrong_tensor(std::string_view name, const std::string& what) {
  return Error{ErrorCode::invalid_argument, "attention: " + std::string(name) + what};
}

Result<void> check_place(std::string_view name, const DeviceTensor& tensor, std::uint64_t bytes,
                         std::uint64_t alignment) {
  if (tensor.address == 0) return wrong_tensor(name, " has no address");
  if (tensor.address % alignment != 0) {
    return wrong_tensor(name, " is at the address " + std::to_string(tensor.address) +
                                  ", but must be at a multiple of " + std::to_string(alignment) + " bytes");
  }
  if (tensor.bytes < bytes) {
    return wrong_tensor(
        name, " has " + std::to_string(tensor.bytes) + " bytes, but needs at least " + std::to_string(bytes));
  }
  if (tensor.address > UINT64_MAX - bytes) {
    return wrong_tensor(name, " is at the address " + std::to_string(tensor.address) +
                                  ", behind which there are no " + std::to_string(bytes) + " bytes");
  }
  return {};
}

Result<void> check_contiguous(std::string_view name, const DeviceTensor& tensor) {
  if (tensor.is_contiguous()) return {};
  return wrong_tensor(name, " has strides, but must be contiguous: leave them 0");
}

TensorShape TensorShape::of(std::array<std::uint64_t, 3> sizes, std::uint64_t row, DataType type) {
  TensorShape shape{sizes, row, static_cast<std::uint32_t>(bits_of(type)), 0};
  shape.contiguous_bytes = sizes[0] * sizes[1] * sizes[2] * row * shape.element_bits / 8;
  return shape;
}

std::uint64_t TensorShape::extent(const std::array<std::int64_t, 3>& strides) const {
  std::uint64_t elements = row;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!is_stepped(i)) continue;
    const auto stride = static_cast<std::uint64_t>(strides[i]);
    // A stride that would overflow exceeds all memory.
    if (stride > kLargestExtent / std::max<std::uint64_t>(sizes[i], 1)) return UINT64_MAX;
    elements += (sizes[i] - 1) * stride;
  }
  return elements * element_bits / 8;
}

bool TensorShape::overlaps(const std::array<std::int64_t, 3>& strides) const {
  std::array<std::size_t, 3> order = {0, 1, 2};
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  std::uint64_t inner = row;  // elements that a stride must exceed
  for (const std::size_t i : order) {
    if (!is_stepped(i)) continue;
    const auto stride = static_cast<std::uint64_t>(strides[i]);
    if (stride < inner) return true;
    inner += (sizes[i] - 1) * stride;
  }
  return false;
}

std::uint64_t TensorShape::counted(const DeviceTensor& tensor) const {
  const auto dimension = static_cast<std::size_t>(
      std::find(counts_on_device.begin(), counts_on_device.end(), true) - counts_on_device.begin());
  if (dimension == sizes.size()) return 1;
  std::uint64_t least = contiguous_bytes;
  std::uint64_t step = contiguous_bytes;
  if (!tensor.is_contiguous()) {
    least = extent(tensor.strides);
    step = static_cast<std::uint64_t>(tensor.strides[dimension]) * element_bits / 8;
  }
  return std::min(most_counted, 1 + (tensor.bytes - least) / step);
}

bool TensorShape::overlaps(const DeviceTensor& tensor) const {
  TensorShape shape = *this;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (counts_on_device[i]) shape.sizes[i] = counted(tensor);
  }
  return shape.overlaps(tensor.strides);
}

Result<void> check_strided(std::string_view name, const DeviceTensor& tensor, const TensorShape& shape) {
  if (tensor.is_contiguous()) return check_place(name, tensor, shape.contiguous_bytes, kTensorAlignment);
  // Rows of e4m3 with 72 or 88 columns, side by side, begin at multiples of 8 bytes.
  const std::uint64_t alignment = shape.row * shape.element_bits % (kTensorAlignment * 8) == 0 ? 16 : 8;
  for (std::size_t i = 0; i < tensor.strides.size(); ++i) {
    const std::int64_t stride = tensor.strides[i];
    if (!shape.is_stepped(i)) continue;
    if (stride > 0 && static_cast<std::uint64_t>(stride) * shape.element_bits % (alignment * 8) == 0)
      continue;
    return wrong_tensor(name, " has a stride of " + std::to_string(stride) +
                                  " elements, but strides must be positive multiples of " +
                                  std::to_string(alignment) + " bytes, or all 0");
  }
  return check_place(name, tensor, shape.extent(tensor.strides), kTensorAlignment);
}

// Checks that no two rows overlap. Used for the output and the cache, whose rows are each written
// once.
Result<void> check_distinct_rows(std::string_view name, const DeviceTensor& tensor,
                                 const TensorShape& shape) {
  CUBINET_TRY(check_strided(name, tensor, shape));
  if (tensor.is_contiguous() || !shape.overlaps(tensor)) return {};
  std::string strides;
  for (const std::int64_t stride : tensor.strides)
    strides += (strides.empty() ? "" : ", ") + std::to_string(stride);
  return wrong_tensor(name, " has the strides " + strides + " elements, by which its rows of " +
                                std::to_string(shape.row) +
                                " overlap: strides count elements, the outermost dimension's first");
}

}  // namespace cubinet
