// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace cubinet::cli {

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
  // XDG_RUNTIME_DIR: on this node, where the index of a home on a network file system lies
  std::optional<std::string> xdg_runtime_dir;
  bool no_color = false;  // NO_COLOR (https://no-color.org)
};

}  // namespace cubinet::cli
