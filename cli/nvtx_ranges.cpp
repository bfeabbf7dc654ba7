// SPDX-License-Identifier: Apache-2.0
#include "nvtx_ranges.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define CUBINET_HAS_NVTX 1
#endif

namespace cubinet::cli {

RangeHook nvtx_ranges() {
#ifdef CUBINET_HAS_NVTX
  return {.begin = [](const char* name) { static_cast<void>(nvtxRangePushA(name)); },
          .end = [] { static_cast<void>(nvtxRangePop()); }};
#else
  return {};
#endif
}

}  // namespace cubinet::cli
