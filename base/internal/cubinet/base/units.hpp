// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cubinet {

std::string format_bytes(std::uint64_t bytes);  // "45.2 KiB"
std::string format_seconds(double seconds);     // "1.23 s", "4.56 ms", "7.89 us"
// Returns the age of a time from `now`, both in seconds since 1970: "within the hour", "3 hours
// ago", "12 days ago".
std::string format_age(std::int64_t since, std::int64_t now);
std::int64_t seconds_since_1970();  // now

}  // namespace cubinet
