// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubinet.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cubinet_python {

// The variables that are read ("NAME=value"), and options in the order of cubinet_config_set, as
// cubinet/configuration.py makes them of a Configuration.
struct ConfigurationLines {
  std::vector<std::string> variables;
  std::vector<std::pair<std::string, std::string>> options;
};

using ConfigHandle = std::unique_ptr<cubinet_config, void (*)(cubinet_config*)>;

// Creates a configuration whose log lines go to Python. Raises InvalidArgument for a wrong option.
ConfigHandle make_configuration(const ConfigurationLines& lines);

}  // namespace cubinet_python
