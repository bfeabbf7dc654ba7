// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/units.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("sizes and times are written in the unit that suits them") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1.0 KiB");
  CHECK(format_bytes(std::uint64_t{3} << 29) == "1.5 GiB");
  CHECK(format_bytes(UINT64_MAX) == "16777216.0 TiB");
  CHECK(format_seconds(2.5) == "2.50 s");
  CHECK(format_seconds(0.0025) == "2.50 ms");
  CHECK(format_seconds(2.5e-6) == "2.50 us");
}

TEST_CASE("an age is written in hours, then in days") {
  constexpr std::int64_t kNow = 1'800'000'000;
  CHECK(format_age(kNow, kNow) == "within the hour");
  CHECK(format_age(kNow - 3 * 3'600, kNow) == "3 hours ago");
  CHECK(format_age(kNow - 10 * 86'400, kNow) == "10 days ago");
  CHECK(format_age(kNow + 100, kNow) == "in the future");
  CHECK(format_age(INT64_MIN, INT64_MAX) == "213503982334601 days ago");
  CHECK(seconds_since_1970() > kNow - 100'000'000);
}
