// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/fast_divisor.h>

#include <cstdint>

namespace cubinet::kernel_templates {

// Returns invalid_argument for a divisor below 1.
Result<FastDivisor> make_fast_divisor(std::int64_t divisor);

}  // namespace cubinet::kernel_templates
