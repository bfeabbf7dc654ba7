// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <bit>
#include <limits>
#include <string>

namespace cubinet::kernel_templates {

Result<FastDivisor> make_fast_divisor(std::int64_t divisor) {
  if (divisor < 1 || divisor > std::numeric_limits<std::int32_t>::max()) {
    return Error{ErrorCode::invalid_argument,
                 "a divisor is " + std::to_string(divisor) + ": it must be from 1 to 2^31 - 1"};
  }
  if (divisor == 1) return FastDivisor{};
  const auto d = static_cast<std::uint64_t>(divisor);
  const auto shift = static_cast<unsigned>(std::bit_width(d - 1)) - 1;
  const std::uint64_t multiplier = ((std::uint64_t{1} << (32 + shift)) + d - 1) / d;
  return FastDivisor{static_cast<int>(divisor), static_cast<unsigned>(multiplier), 0,
                     static_cast<int>(shift)};
}

}  // namespace cubinet::kernel_templates
