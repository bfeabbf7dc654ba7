// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace cubinet {

enum class LogLevel { debug, info, warning, error };

std::string_view to_string(LogLevel level);

// One fact of a log record, for programs. The name has lower-case letters and underscores. Times
// are in seconds, sizes in bytes.
struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, double> value;
};

// One line of a log. Its texts are valid during the call of the sink. The message may have any
// bytes: names out of files are not escaped.
struct LogRecord {
  LogLevel level = LogLevel::info;
  std::string_view message;
  // The first field of a record with fields is "event" (docs/observability.md).
  std::span<const LogField> fields = {};
};

// A function that receives reports which a component cannot return: a quarantined entry, an
// unusable home, a failed unload. Any thread may call it, several at once. It must not throw. An
// empty sink, the default, discards reports.
//
// A sink is called in the middle of operations. A call from it that would read a store, compile or
// load returns busy; look-ups of loaded kernels, counters, release and thaw work.
using LogSink = Callback<void(const LogRecord&)>;

void log(const LogSink& sink, LogLevel level, std::string_view message,
         std::span<const LogField> fields = {});

}  // namespace cubinet
