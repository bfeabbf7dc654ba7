// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/log.hpp>
#include <cubinet/base/sink_scope.hpp>

namespace cubinet {

void log(const LogSink& sink, LogLevel level, std::string_view message, std::span<const LogField> fields) {
  if (!sink) return;
  const SinkScope scope;
  sink({level, message, fields});
}

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
