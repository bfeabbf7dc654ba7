// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>

#include <string_view>

namespace cubinet {

enum class LogLevel { debug, info, warning, error };

std::string_view to_string(LogLevel level);

// A function that receives reports which a component cannot return: a quarantined entry, an
// unusable home, a failed unload. Any thread may call it, several at once. It must not throw. An
// empty sink, the default, discards reports.
using LogSink = Callback<void(LogLevel, std::string_view)>;

inline void log(const LogSink& sink, LogLevel level, std::string_view message) {
  if (sink) sink(level, message);
}

}  // namespace cubinet
