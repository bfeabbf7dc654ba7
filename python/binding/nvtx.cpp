// SPDX-License-Identifier: Apache-2.0
#include "nvtx.hpp"

#include "conversions.hpp"
#include "errors.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define CUBINET_PYTHON_HAS_NVTX 1
#endif

namespace cubinet_python {

void send_ranges_to_nvtx([[maybe_unused]] cubinet_config* config) {
#ifdef CUBINET_PYTHON_HAS_NVTX
  cubinet_range_callback callback = CUBINET_RANGE_CALLBACK_INIT;
  callback.begin = [](void*, const char* name) { static_cast<void>(nvtxRangePushA(name)); };
  callback.end = [](void*) { static_cast<void>(nvtxRangePop()); };
  cubinet_error* error = nullptr;
  if (cubinet_config_set_ranges(config, &callback, &error) != CUBINET_OK) raise(error);
#endif
}

}  // namespace cubinet_python
