// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"

#include <cubinet/cubinet.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cubinet_python {

// The variables that are read ("NAME=value"), and options in the order of cubinet_config_set, as
// cubinet/configuration.py makes them of a Configuration. Values are bytes, because a path or a
// variable may have any.
using Variables = std::vector<nanobind::bytes>;
using Options = std::vector<std::pair<std::string, nanobind::bytes>>;

// Returns the variables as an array that ends with null, like `environ`. Valid as long as they.
std::vector<const char*> environment_of(const Variables& variables);

using ConfigHandle = std::unique_ptr<cubinet_config, void (*)(cubinet_config*)>;

// Creates a configuration whose log lines go to Python. Raises InvalidArgument for a wrong option.
ConfigHandle make_configuration(const Variables& variables, const Options& options);

}  // namespace cubinet_python
