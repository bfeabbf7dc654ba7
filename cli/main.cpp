// SPDX-License-Identifier: Apache-2.0
#include "application.hpp"
#include "console.hpp"
#include "environment_variables.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <unistd.h>

namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

std::optional<std::string> first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (auto value = variable(name)) return value;
  }
  return std::nullopt;
}

cubinet::cli::ServerVariables read_server_variables() {
  cubinet::cli::ServerVariables servers;
  servers.proxy = first_of({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});
  servers.no_proxy = first_of({"no_proxy", "NO_PROXY"});
  servers.aws_access_key = variable("AWS_ACCESS_KEY_ID");
  servers.aws_secret_key = variable("AWS_SECRET_ACCESS_KEY");
  servers.aws_session_token = variable("AWS_SESSION_TOKEN");
  servers.aws_region = first_of({"AWS_REGION", "AWS_DEFAULT_REGION"});
  servers.aws_profile = variable("AWS_PROFILE");
  servers.aws_credentials_file = variable("AWS_SHARED_CREDENTIALS_FILE");
  servers.aws_config_file = variable("AWS_CONFIG_FILE");
  servers.docker_config = variable("DOCKER_CONFIG");
  servers.path = variable("PATH");
  for (char** line = environ; line != nullptr && *line != nullptr; ++line)
    servers.all.emplace_back(*line);
  return servers;
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
  environment.servers = read_server_variables();
  environment.no_color = variable("NO_COLOR").has_value();
  return environment;
}

}  // namespace

int main(int argc, char** argv) {
  cubinet::cli::occupy_closed_streams();
  // A write beyond `ulimit -f` fails as one to a full disk does, and is told, instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return cubinet::cli::run(argc, argv, read_environment());
  } catch (...) {
    // `run` reports every exception it meets; what arrives here failed while reporting.
    std::fputs("cubinet: error: internal error: out of memory\n", stderr);
    return 1;
  }
}
