// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "demangled_types.hpp"
#include "handle.hpp"

#include <string>
#include <vector>

namespace cubinet_python {

// _core.Function: a loaded kernel on one device. Immutable except for close().
struct PyFunction {
  explicit PyFunction(Handle<cubinet_function> loaded);

  // Raises InvalidArgument if the function is closed.
  const Handle<cubinet_function>& open() const;

  Handle<cubinet_function> handle;
  std::string name;
  std::int32_t device = 0;
  bool states_sizes = false;         // whether the driver or the image states the sizes
  std::vector<std::uint32_t> sizes;  // of the arguments in bytes
  std::vector<ArgumentType> types;   // as many as `sizes`
};

}  // namespace cubinet_python
