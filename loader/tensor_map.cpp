// SPDX-License-Identifier: Apache-2.0
#include "driver_api.hpp"

#include <cubinet/loader/tensor_map.hpp>

#include <cstring>
#include <string>
#include <string_view>

namespace cubinet {
namespace {

constexpr std::uint32_t kMaximumRank = 5;
constexpr std::uint64_t kMaximumSize = std::uint64_t{1} << 32U;
constexpr std::uint64_t kStrideLimit = std::uint64_t{1} << 40U;
constexpr std::uint32_t kMaximumBox = 256;
constexpr std::uint32_t kPaddedRow = 128;  // elements of a box of padded_4bit
constexpr std::uint16_t kFirstMajor = 9;   // tensor maps begin at 9.0
// The shared memory of an SM of 9.0. Measured on one: 233,472 bytes are encoded, and one more row
// is rejected with CUDA_ERROR_INVALID_VALUE.
constexpr std::uint64_t kMaximumBoxBytes = 228 * 1024;
constexpr std::array<cuuint32_t, kMaximumRank> kEveryElement = {1, 1, 1, 1, 1};

Error wrong(std::string_view field, std::uint64_t value, std::string_view allowed) {
  return Error{ErrorCode::invalid_argument, "a tensor map's " + std::string(field) + " is " +
                                                std::to_string(value) + ": it must be " +
                                                std::string(allowed)};
}

std::string of_dimension(std::string_view field, std::uint32_t dimension) {
  return std::string(field) + " of dimension " + std::to_string(dimension);
}

std::uint32_t span_bytes(TensorMapDescription::Swizzle swizzle) {
  switch (swizzle) {
    case TensorMapDescription::Swizzle::bytes32:
      return 32;
    case TensorMapDescription::Swizzle::bytes64:
      return 64;
    case TensorMapDescription::Swizzle::bytes128:
      return 128;
    case TensorMapDescription::Swizzle::none:
      break;
  }
  return 0;
}

bool is_padded(const TensorMapDescription& map) {
  return map.type == TensorMapDescription::Type::padded_4bit;
}

std::uint64_t alignment_of(const TensorMapDescription& map) {
  return is_padded(map) ? 32 : 16;
}

// Returns the size of a row in shared memory.
std::uint64_t row_bytes(const TensorMapDescription& map) {
  const std::uint64_t bits = is_padded(map) ? 8 : bits_of(map.type);
  return map.box[0] * bits / 8;
}

Result<void> check_dimension(const TensorMapDescription& map, std::uint32_t i) {
  if (map.sizes[i] == 0 || map.sizes[i] > kMaximumSize) {
    return wrong(of_dimension("size", i), map.sizes[i], "from 1 to 2^32");
  }
  if (map.box[i] == 0 || map.box[i] > kMaximumBox) {
    return wrong(of_dimension("box", i), map.box[i], "from 1 to 256");
  }
  if (i == 0) return {};
  const std::uint64_t stride = map.strides_bytes[i - 1];
  if (stride % alignment_of(map) != 0 || stride >= kStrideLimit) {
    return wrong(of_dimension("stride", i), stride,
                 "a multiple of " + std::to_string(alignment_of(map)) + " bytes below 2^40");
  }
  return {};
}

}  // namespace

std::uint32_t bits_of(TensorMapDescription::Type type) {
  switch (type) {
    case TensorMapDescription::Type::uint8:
      return 8;
    case TensorMapDescription::Type::fp16:
    case TensorMapDescription::Type::bf16:
      return 16;
    case TensorMapDescription::Type::padded_4bit:
      break;
  }
  return 4;
}

Result<void> check_tensor_map(const TensorMapDescription& map) {
  const std::uint32_t least = is_padded(map) ? 2 : 1;
  if (map.rank < least || map.rank > kMaximumRank)
    return wrong("rank", map.rank, "from " + std::to_string(least) + " to 5");
  if (map.address % alignment_of(map) != 0)
    return wrong("address", map.address, "a multiple of " + std::to_string(alignment_of(map)));
  if (map.swizzle > TensorMapDescription::Swizzle::bytes128) {
    return wrong("swizzle", static_cast<std::uint64_t>(map.swizzle), "an enumerated value");
  }
  for (std::uint32_t i = 0; i < map.rank; ++i)
    CUBINET_TRY(check_dimension(map, i));
  if (is_padded(map) && map.sizes[0] % kPaddedRow != 0)
    return wrong("size of dimension 0", map.sizes[0], "a multiple of 128 elements of 4 bits");
  if (is_padded(map) && map.box[0] != kPaddedRow)
    return wrong("box row", map.box[0], "128 elements of 4 bits");
  const std::uint64_t row = row_bytes(map);
  if (row % 16 != 0) return wrong("box row", row, "a multiple of 16 bytes");
  std::uint64_t box_bytes = row;
  for (std::uint32_t i = 1; i < map.rank; ++i)
    box_bytes *= map.box[i];
  if (box_bytes > kMaximumBoxBytes) return wrong("box", box_bytes, "at most 233472 bytes");
  const std::uint32_t span = span_bytes(map.swizzle);
  if (span != 0 && row > span) {
    return wrong("box row", row, "at most the swizzle's " + std::to_string(span) + " bytes");
  }
  return {};
}

Result<std::array<std::byte, 128>> encode_tensor_map(const Device& device, const TensorMapDescription& map) {
  CUBINET_TRY(check_tensor_map(map));
  const Driver& driver = *device.driver();
  if (driver.api().cuTensorMapEncodeTiled == nullptr) {
    return Error{ErrorCode::unsupported,
                 "tensor maps need cuTensorMapEncodeTiled, and the driver is of CUDA " +
                     cuda_version_text(driver.version())};
  }
  if (device.properties().capability.major < kFirstMajor) {
    return Error{ErrorCode::unsupported,
                 "tensor maps begin with devices of 9.0: " + device.properties().to_string() + " has none"};
  }
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device.make_current());
  CUtensorMap encoded;
  const CUresult result = driver.api().cuTensorMapEncodeTiled(
      &encoded, static_cast<CUtensorMapDataType>(map.type), map.rank,
      reinterpret_cast<void*>(static_cast<std::uintptr_t>(map.address)), map.sizes.data(),
      map.strides_bytes.data(), map.box.data(), kEveryElement.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
      static_cast<CUtensorMapSwizzle>(map.swizzle), CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    return driver.error(result, "cuTensorMapEncodeTiled",
                        "encoding a tensor map of rank " + std::to_string(map.rank) + " for " +
                            device.properties().to_string());
  }
  std::array<std::byte, 128> answer{};
  static_assert(sizeof(answer) == sizeof(encoded));
  std::memcpy(&answer, &encoded, sizeof(answer));
  return answer;
}

}  // namespace cubinet
