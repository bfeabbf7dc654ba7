// SPDX-License-Identifier: Apache-2.0
#include "retry.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace cubinet {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// In seconds. Larger values are clamped, which prevents overflow.
constexpr int kLongestRetryAfter = 1'000'000'000;

std::optional<int> number(std::string_view digits) {
  int value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc() || end != digits.data() + digits.size() || digits.empty() || value < 0)
    return std::nullopt;
  return value;
}

// Parses "Sun, 06 Nov 1994 08:49:37 GMT". strptime is not used because it reads names in the
// process's locale.
std::optional<std::time_t> parse_http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT" || text[19] != ':' ||
      text[22] != ':')
    return std::nullopt;
  const auto month = std::find(months.begin(), months.end(), text.substr(8, 3));
  const auto day = number(text.substr(5, 2));
  const auto year = number(text.substr(12, 4));
  const auto hour = number(text.substr(17, 2));
  const auto minute = number(text.substr(20, 2));
  const auto second = number(text.substr(23, 2));
  if (month == months.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  std::tm parts{};
  parts.tm_year = *year - 1900;
  parts.tm_mon = static_cast<int>(month - months.begin());
  parts.tm_mday = *day;
  parts.tm_hour = *hour;
  parts.tm_min = *minute;
  parts.tm_sec = *second;
  return timegm(&parts);
}

}  // namespace

bool is_retryable_status(int status) {
  return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

std::optional<milliseconds> parse_retry_after(std::string_view value, std::time_t now) {
  if (!value.empty() && std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return seconds(std::min(number(value).value_or(kLongestRetryAfter), kLongestRetryAfter));
  const auto date = parse_http_date(value);
  if (!date) return std::nullopt;
  return seconds(std::clamp<std::time_t>(*date - now, 0, kLongestRetryAfter));
}

milliseconds retry_delay(unsigned next, milliseconds first_delay, milliseconds longest_delay,
                         milliseconds asked_for, std::uint64_t random) {
  const unsigned doublings = std::min(next == 0 ? 0U : next - 1, 20U);
  const milliseconds most = std::min(longest_delay, first_delay * (std::int64_t{1} << doublings));
  const auto choices = static_cast<std::uint64_t>(std::max<std::int64_t>(most.count(), 0)) + 1;
  return asked_for + milliseconds(static_cast<std::int64_t>(random % choices));
}

}  // namespace cubinet
