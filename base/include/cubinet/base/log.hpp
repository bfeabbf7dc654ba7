// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>

#include <string_view>

namespace cubinet {

enum class LogLevel { debug, info, warning, error };

std::string_view to_string(LogLevel level);

// Where a component reports what it cannot return: a quarantined entry, a home that is not usable, a failed
// unload. Called from any thread, possibly at once; must not throw. An empty sink is silence, the default.
using LogSink = Callback<void(LogLevel, std::string_view)>;

inline void log(const LogSink& sink, LogLevel level, std::string_view message) {
  if (sink) sink(level, message);
}

}  // namespace cubinet
