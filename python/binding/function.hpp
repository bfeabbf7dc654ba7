// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "handle.hpp"
#include "kernel_parameters.hpp"

namespace cubinet_python {

// _core.Function: a loaded kernel on one device. Immutable except for close().
struct PyFunction {
  explicit PyFunction(Handle<cubinet_function> loaded);

  // Raises InvalidArgument if the function is closed.
  const Handle<cubinet_function>& open() const;

  Handle<cubinet_function> handle;
  KernelParameters parameters;
};

}  // namespace cubinet_python
