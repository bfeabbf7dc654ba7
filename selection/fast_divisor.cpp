// SPDX-License-Identifier: Apache-2.0
#include <cubinet/selection/fast_divisor.hpp>

#include <bit>
#include <string>

namespace cubinet {

Result<FastDivisor> FastDivisor::make(std::int32_t divisor) {
  if (divisor < 1) {
    return Error{ErrorCode::invalid_argument,
                 "a divisor is " + std::to_string(divisor) + ": it must be at least 1"};
  }
  if (divisor == 1) return FastDivisor{};
  const auto d = static_cast<std::uint64_t>(divisor);
  const auto shift = static_cast<unsigned>(std::bit_width(d - 1)) - 1;
  const std::uint64_t multiplier = ((std::uint64_t{1} << (32 + shift)) + d - 1) / d;
  return FastDivisor{divisor, static_cast<std::uint32_t>(multiplier), 0, static_cast<std::int32_t>(shift)};
}

}  // namespace cubinet
