// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "demangled_types.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet_python {

// The parameters of a loaded kernel.
struct KernelParameters {
  std::string name;  // of the kernel, for messages
  std::int32_t device = 0;
  bool states_sizes = false;         // whether the driver or the image states the sizes
  std::vector<std::uint32_t> sizes;  // in bytes
  std::vector<ArgumentType> types;   // as many as `sizes`
};

}  // namespace cubinet_python
