// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"

#include <cubinet/cubinet.h>

namespace cubinet_python {

// The keywords of a launch.
struct LaunchOptions {
  // Reads the keywords of a fast call: `names` is a tuple or null, `values` as many objects.
  // Raises TypeError for an unknown keyword and for a launch without `grid`, and InvalidArgument
  // for a wrong value.
  LaunchOptions(PyObject* names, PyObject* const* values);

  cubinet_launch_config config = CUBINET_LAUNCH_CONFIG_INIT;
  PyObject* stream = nullptr;  // borrowed; null or None: not stated
};

}  // namespace cubinet_python
