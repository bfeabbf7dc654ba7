// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>

namespace cubinet {

// Returns whether the same request may get another response later: 408, 429, and temporary failures
// of the server.
bool is_retryable_status(int status);

// Parses a Retry-After header: a number of seconds, or a date in HTTP's current format (RFC 9110,
// 5.6.7). A date in the past means immediately. Returns nullopt for any other text.
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value, std::time_t now);

// Returns the delay before attempt `next` (from 1 on; 0 was the first). It is the server's
// requested delay plus a random time up to `first_delay`, doubled with every attempt up to
// `longest_delay`. The full random range ("full jitter") prevents clients that failed together from
// retrying together. `random` is any number.
std::chrono::milliseconds retry_delay(unsigned next, std::chrono::milliseconds first_delay,
                                      std::chrono::milliseconds longest_delay,
                                      std::chrono::milliseconds asked_for, std::uint64_t random);

}  // namespace cubinet
