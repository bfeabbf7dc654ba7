// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/log.hpp>

namespace cubinet {

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "error";
}

}  // namespace cubinet
