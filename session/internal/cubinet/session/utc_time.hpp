// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace cubinet {

using TimePoint = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

// Returns "2026-11-27T03:00:00.123Z". Years outside 0 to 9999 are clamped.
std::string to_text(TimePoint time);

// Parses the begin of a period: "90s", "30m", "3h", "7d" before `now`, or a time in UTC,
// "2026-11-27", "2026-11-27T03:00" or "2026-11-27T03:00:00", each with or without a final Z.
// Returns invalid_argument otherwise.
Result<TimePoint> parse_since(std::string_view text, TimePoint now);

}  // namespace cubinet
