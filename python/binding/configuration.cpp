// SPDX-License-Identifier: Apache-2.0
#include "configuration.hpp"

#include "errors.hpp"
#include "text.hpp"

namespace cubinet_python {

ConfigHandle make_configuration(const ConfigurationLines& lines) {
  std::vector<const char*> variables;
  for (const std::string& variable : lines.variables)
    variables.push_back(variable.c_str());
  variables.push_back(nullptr);
  cubinet_config* created = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_config_from_environment(CUBINET_ABI_VERSION, variables.data(), &created, error);
  });
  ConfigHandle config(created, cubinet_config_release);
  for (const auto& [name, value] : lines.options) {
    call([&, &name = name, &value = value](cubinet_error** error) {
      return cubinet_config_set(created, to_c(name), to_c(value), error);
    });
  }
  send_log_to_python(created);
  return config;
}

}  // namespace cubinet_python
