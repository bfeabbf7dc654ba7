// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>

#include <chrono>
#include <string>

namespace cubinet {

// The forms in which a front end writes its log: for people, or log_line().
enum class LogFormat { text, json };

// Returns a log record as one line of JSON without the newline: {"time", "level", "message"} and
// the record's fields. `time` is in UTC with milliseconds. Control and invisible characters are
// escaped.
std::string log_line(const LogRecord& record,
                     std::chrono::system_clock::time_point time = std::chrono::system_clock::now());

// Returns the fields of a record as a JSON object on one line.
std::string log_fields(const LogRecord& record);

}  // namespace cubinet
