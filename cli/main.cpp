// SPDX-License-Identifier: Apache-2.0
#include "application.hpp"
#include "console.hpp"
#include "environment_variables.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

cubinet::cli::EnvironmentVariables read_environment() {
  cubinet::cli::EnvironmentVariables environment;
  environment.cubinet_home = variable("CUBINET_HOME");
  environment.cuda_wheels = variable("CUBINET_CUDA_WHEELS");
  environment.cuda_home = variable("CUDA_HOME");
  environment.cuda_path = variable("CUDA_PATH");
  environment.xdg_cache_home = variable("XDG_CACHE_HOME");
  environment.xdg_runtime_dir = variable("XDG_RUNTIME_DIR");
  environment.home = variable("HOME");
  environment.no_color = variable("NO_COLOR").has_value();
  return environment;
}

}  // namespace

int main(int argc, char** argv) {
  cubinet::cli::occupy_closed_streams();
  try {
    return cubinet::cli::run(argc, argv, read_environment());
  } catch (...) {
    // `run` reports every exception it meets; what arrives here failed while reporting.
    std::fputs("cubinet: error: internal error: out of memory\n", stderr);
    return 1;
  }
}
