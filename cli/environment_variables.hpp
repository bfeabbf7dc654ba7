// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cubinet::cli {

// Those that say how servers are asked, and as whom.
struct ServerVariables {
  std::optional<std::string> proxy;           // https_proxy, HTTPS_PROXY, all_proxy, ALL_PROXY: the first
  std::optional<std::string> no_proxy;        // no_proxy, NO_PROXY
  std::optional<std::string> aws_access_key;  // AWS_ACCESS_KEY_ID
  std::optional<std::string> aws_secret_key;  // AWS_SECRET_ACCESS_KEY
  std::optional<std::string> aws_session_token;
  std::optional<std::string> aws_region;            // AWS_REGION, AWS_DEFAULT_REGION
  std::optional<std::string> aws_profile;           // AWS_PROFILE
  std::optional<std::string> aws_credentials_file;  // AWS_SHARED_CREDENTIALS_FILE
  std::optional<std::string> aws_config_file;       // AWS_CONFIG_FILE
  std::optional<std::string> docker_config;         // DOCKER_CONFIG: a folder
  std::optional<std::string> path;  // PATH, in which docker's credential helpers are looked for
  std::vector<std::string> all;     // all NAME=value, for such a helper
};

// The environment variables that mean something to the tool, read once in main.cpp. A variable that is set to
// nothing counts as not set.
struct EnvironmentVariables {
  std::optional<std::string> cubinet_home;  // CUBINET_HOME: the local home
  std::optional<std::string>
      cuda_wheels;  // CUBINET_CUDA_WHEELS: folders, separated by ':', with NVIDIA's wheels
  std::optional<std::string> cuda_home;  // CUDA_HOME, CUDA_PATH: toolkits searched before the usual place
  std::optional<std::string> cuda_path;
  std::optional<std::string> xdg_cache_home;  // XDG_CACHE_HOME, HOME: where the user's cache folder is
  std::optional<std::string> home;
  ServerVariables servers;
  // XDG_RUNTIME_DIR: on this node, where the index of a home on a network file system lies
  std::optional<std::string> xdg_runtime_dir;
  bool no_color = false;  // NO_COLOR (https://no-color.org)
};

}  // namespace cubinet::cli
