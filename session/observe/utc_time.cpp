// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/session/utc_time.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace cubinet {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::sys_days;

constexpr std::int64_t kMaximumAgo = 1'000'000;  // of any unit; a day's is 2,700 years

std::optional<std::int64_t> number_of(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = !digits.empty() && digits.front() != '-' && failure == std::errc{} &&
                     end == digits.data() + digits.size();
  return whole ? std::optional(value) : std::nullopt;
}

std::optional<milliseconds> period_of(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  const auto count = number_of(text.substr(0, text.size() - 1));
  if (!count || *count > kMaximumAgo) return std::nullopt;
  switch (text.back()) {
    case 's':
      return std::chrono::seconds(*count);
    case 'm':
      return std::chrono::minutes(*count);
    case 'h':
      return std::chrono::hours(*count);
    case 'd':
      return days(*count);
    default:
      return std::nullopt;
  }
}

// Returns the numbers of a text that has digits where `form` has '0' and its characters elsewhere.
std::optional<std::array<int, 6>> fields_of(std::string_view text, std::string_view form) {
  if (text.size() != form.size()) return std::nullopt;
  std::array<int, 6> fields = {};
  std::size_t field = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (form[i] != '0') {
      if (text[i] != form[i]) return std::nullopt;
      ++field;
    } else if (text[i] < '0' || text[i] > '9') {
      return std::nullopt;
    } else {
      fields[field] = fields[field] * 10 + (text[i] - '0');
    }
  }
  return fields;
}

std::optional<TimePoint> time_of(std::string_view text) {
  if (text.ends_with('Z')) text.remove_suffix(1);
  for (const std::string_view form : {"0000-00-00", "0000-00-00T00:00", "0000-00-00T00:00:00"}) {
    const auto fields = fields_of(text, form);
    if (!fields) continue;
    const auto [year, month, day, hour, minute, second] = *fields;
    const std::chrono::year_month_day date(std::chrono::year(year),
                                           std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day)));
    if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
    return TimePoint(sys_days(date)) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
           std::chrono::seconds(second);
  }
  return std::nullopt;
}

}  // namespace

std::string to_text(TimePoint time) {
  const TimePoint first = sys_days(std::chrono::year(0) / 1 / 1);
  const TimePoint last = TimePoint(sys_days(std::chrono::year(10000) / 1 / 1)) - milliseconds(1);
  time = std::clamp(time, first, last);
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const auto in_day = time - day;
  const std::int64_t ms = in_day.count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), ms / 3'600'000,
                     ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
}

Result<TimePoint> parse_since(std::string_view text, TimePoint now) {
  if (const auto period = period_of(text)) return now - *period;
  if (const auto time = time_of(text)) return *time;
  return Error{ErrorCode::invalid_argument, fmt::format("'{}' is no time", printable(text, kQuotedBytes)),
               "use a period such as 3h or 7d, or a time in UTC such as 2026-11-27T03:00"};
}

}  // namespace cubinet
