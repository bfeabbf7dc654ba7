// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/loader/function.hpp>

#include <functional>

namespace cubinet::bench {

// Returns the median of the threads' seconds per look-up while `threads` threads look up at once.
// `look_up` takes the number of the thread and that of the look-up.
Result<double> time_look_ups(unsigned threads, const std::function<Result<Function>(unsigned, int)>& look_up);

}  // namespace cubinet::bench
