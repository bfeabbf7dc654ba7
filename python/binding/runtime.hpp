// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "handle.hpp"

namespace cubinet_python {

// _core.Runtime. Thread-safe under the GIL.
struct PyRuntime {
  std::shared_ptr<RuntimeState> state;
};

}  // namespace cubinet_python
