// SPDX-License-Identifier: Apache-2.0
#include <cubinet/selection/tensor_map.hpp>

#include <string>
#include <string_view>

namespace cubinet {
namespace {

constexpr std::uint32_t kMaximumRank = 5;
constexpr std::uint64_t kAlignment = 16;
constexpr std::uint64_t kMaximumSize = std::uint64_t{1} << 32U;
constexpr std::uint64_t kStrideLimit = std::uint64_t{1} << 40U;
constexpr std::uint32_t kMaximumBox = 256;
constexpr std::uint32_t kMaximumElementStride = 8;
// What a multiprocessor of 9.0 has of shared memory; measured on one: 233,472 bytes are encoded, one more row
// is refused with CUDA_ERROR_INVALID_VALUE.
constexpr std::uint64_t kMaximumBoxBytes = 228 * 1024;

Error wrong(std::string_view field, std::uint64_t value, std::string_view allowed) {
  return Error{ErrorCode::invalid_argument, "a tensor map's " + std::string(field) + " is " +
                                                std::to_string(value) + ": it must be " +
                                                std::string(allowed)};
}

std::string of_dimension(std::string_view field, std::uint32_t dimension) {
  return std::string(field) + " of dimension " + std::to_string(dimension);
}

std::uint32_t span_bytes(TensorMapSwizzle swizzle) {
  switch (swizzle) {
    case TensorMapSwizzle::bytes32:
      return 32;
    case TensorMapSwizzle::bytes64:
      return 64;
    case TensorMapSwizzle::bytes128:
      return 128;
    case TensorMapSwizzle::none:
      break;
  }
  return 0;
}

Result<void> check_dimension(const TensorMapDescription& map, std::uint32_t i) {
  if (map.sizes[i] == 0 || map.sizes[i] > kMaximumSize) {
    return wrong(of_dimension("size", i), map.sizes[i], "from 1 to 2^32");
  }
  if (map.box[i] == 0 || map.box[i] > kMaximumBox) {
    return wrong(of_dimension("box", i), map.box[i], "from 1 to 256");
  }
  if (map.element_strides[i] == 0 || map.element_strides[i] > kMaximumElementStride) {
    return wrong(of_dimension("element stride", i), map.element_strides[i], "from 1 to 8");
  }
  if (i == 0) return {};
  const std::uint64_t stride = map.strides_bytes[i - 1];
  if (stride % kAlignment != 0 || stride >= kStrideLimit) {
    return wrong(of_dimension("stride", i), stride, "a multiple of 16 bytes below 2^40");
  }
  return {};
}

}  // namespace

Result<void> check_tensor_map(const TensorMapDescription& map) {
  if (map.rank == 0 || map.rank > kMaximumRank) return wrong("rank", map.rank, "from 1 to 5");
  const std::uint32_t element = map.element_bytes;
  if (element != 1 && element != 2 && element != 4 && element != 8) {
    return wrong("element size", element, "1, 2, 4 or 8 bytes");
  }
  if (map.address % kAlignment != 0) return wrong("address", map.address, "a multiple of 16");
  if (map.swizzle > TensorMapSwizzle::bytes128) {
    return wrong("swizzle", static_cast<std::uint64_t>(map.swizzle), "an enumerated value");
  }
  for (std::uint32_t i = 0; i < map.rank; ++i)
    CUBINET_TRY(check_dimension(map, i));
  const std::uint64_t row_bytes = std::uint64_t{map.box[0]} * element;
  if (row_bytes % kAlignment != 0) return wrong("box row", row_bytes, "a multiple of 16 bytes");
  // What is copied: every stride-th element, the innermost dimension whole. The driver's own bound rounds
  // down and divides the innermost dimension as well, so it lets some boxes pass that do not fit.
  std::uint64_t box_bytes = row_bytes;
  for (std::uint32_t i = 1; i < map.rank; ++i) {
    box_bytes *= (map.box[i] + map.element_strides[i] - 1) / map.element_strides[i];
  }
  if (box_bytes > kMaximumBoxBytes) return wrong("box", box_bytes, "at most 233472 bytes");
  const std::uint32_t span = span_bytes(map.swizzle);
  if (span != 0 && row_bytes > span) {
    return wrong("box row", row_bytes, "at most the swizzle's " + std::to_string(span) + " bytes");
  }
  return {};
}

Result<TensorMapSwizzle> swizzle_for(std::uint32_t box_row_bytes) {
  if (box_row_bytes == 0 || box_row_bytes % 32 != 0) {
    return wrong("box row", box_row_bytes, "a multiple of 32 bytes to be swizzled");
  }
  if (box_row_bytes % 128 == 0) return TensorMapSwizzle::bytes128;
  if (box_row_bytes % 64 == 0) return TensorMapSwizzle::bytes64;
  return TensorMapSwizzle::bytes32;
}

}  // namespace cubinet
