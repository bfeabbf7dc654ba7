// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/runtime.hpp>

namespace cubinet::cli {

// Returns a hook that reports ranges with NVTX, or an empty one if cubinet was built without its
// header. Without a profiler a range calls nothing. The header looks in the environment for the
// profiler's library (NVTX_INJECTION64_PATH), so the library itself does not use it.
RangeHook nvtx_ranges();

}  // namespace cubinet::cli
