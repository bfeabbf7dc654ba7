// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>

namespace cubinet {

// Whether the same request may get another answer in a while: 408, 429, and of the server's own failures
// those that pass.
bool is_retryable_status(int status);

// What a Retry-After asks for: a number of seconds, or a date as HTTP writes it today (RFC 9110, 5.6.7), of
// which the past means at once. nullopt for anything else.
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value, std::time_t now);

// How long to wait before attempt `next` (from 1 on; 0 was the first): any time up to `first_delay` doubled
// with every attempt and `longest_delay` at most, so that those who failed together do not come back together
// ("full jitter"), on top of what the server asked for. `random` is any number.
std::chrono::milliseconds retry_delay(unsigned next, std::chrono::milliseconds first_delay,
                                      std::chrono::milliseconds longest_delay,
                                      std::chrono::milliseconds asked_for, std::uint64_t random);

}  // namespace cubinet
