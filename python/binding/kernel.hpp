// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "handle.hpp"

namespace cubinet_python {

// _core.Kernel: a request that a runtime has checked. Immutable.
struct PyKernel {
  Handle<cubinet_kernel> handle;
  std::shared_ptr<const RuntimeState> runtime;
};

}  // namespace cubinet_python
