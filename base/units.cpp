// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/base/units.hpp>

#include <array>
#include <chrono>
#include <cstdio>

namespace cubinet {
namespace {

std::string with_unit(double value, int digits, const char* unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", digits, value, unit);
  return text.data();
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return with_unit(value, 1, kUnits[unit]);
}

std::string format_seconds(double seconds) {
  if (seconds >= 1) return with_unit(seconds, 2, "s");
  if (seconds >= 1e-3) return with_unit(seconds * 1e3, 2, "ms");
  return with_unit(seconds * 1e6, 2, "us");
}

std::string format_age(std::int64_t since, std::int64_t now) {
  constexpr std::int64_t kHour = 3'600;
  constexpr std::int64_t kDay = 24 * kHour;
  if (since > now) return "in the future";
  const std::uint64_t seconds = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(since);
  if (seconds < kHour) return "within the hour";
  if (seconds < 2 * kDay) return plural(seconds / kHour, "hour") + " ago";
  return plural(seconds / kDay, "day") + " ago";
}

std::int64_t seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace cubinet
