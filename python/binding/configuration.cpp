// SPDX-License-Identifier: Apache-2.0
#include "configuration.hpp"

#include "errors.hpp"
#include "nvtx.hpp"
#include "text.hpp"

namespace cubinet_python {

std::vector<const char*> environment_of(const Variables& variables) {
  std::vector<const char*> environment;
  for (const nanobind::bytes& variable : variables)
    environment.push_back(variable.c_str());
  environment.push_back(nullptr);
  return environment;
}

ConfigHandle make_configuration(const Variables& variables, const Options& options) {
  const std::vector<const char*> environment = environment_of(variables);
  cubinet_config* created = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_config_from_environment(CUBINET_ABI_VERSION, environment.data(), &created, error);
  });
  ConfigHandle config(created, cubinet_config_release);
  for (const auto& [name, bytes] : options) {
    const cubinet_string value = {bytes.c_str(), bytes.size()};
    call([&, &name = name](cubinet_error** error) {
      return cubinet_config_set(created, to_c(name), value, error);
    });
  }
  send_log_to_python(created);
  send_ranges_to_nvtx(created);
  return config;
}

}  // namespace cubinet_python
