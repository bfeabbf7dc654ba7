// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tool.hpp"

#include <cstdlib>
#include <filesystem>

namespace cubinet::test {

// The stub driver is a libcuda.so.1 of its own folder. Without one the machine's own driver serves.
inline ToolSetting with_driver() {
  const char* stub = std::getenv("CUBINET_TEST_DRIVER");
  ToolSetting setting;
  if (stub == nullptr) return setting;
  setting.environment = {{"LD_LIBRARY_PATH", std::filesystem::path(stub).parent_path().string()}};
  return setting;
}

}  // namespace cubinet::test
