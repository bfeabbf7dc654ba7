// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/session/utc_time.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using std::chrono::milliseconds;
using test::ok;

namespace {

TimePoint at(std::int64_t since_epoch) {
  return TimePoint(milliseconds(since_epoch));
}

}  // namespace

TEST_CASE("a time is written in UTC with milliseconds") {
  CHECK(to_text(at(0)) == "1970-01-01T00:00:00.000Z");
  CHECK(to_text(at(1795748400123)) == "2026-11-27T03:00:00.123Z");
  CHECK(to_text(at(-1)) == "1969-12-31T23:59:59.999Z");
  CHECK(to_text(TimePoint::max()) == "9999-12-31T23:59:59.999Z");
  CHECK(to_text(TimePoint::min()) == "0000-01-01T00:00:00.000Z");
}

TEST_CASE("a period counts back from now, and a time in UTC is itself") {
  const TimePoint now = at(1795748400000);
  CHECK(ok(parse_since("90s", now)) == now - std::chrono::seconds(90));
  CHECK(ok(parse_since("30m", now)) == now - std::chrono::minutes(30));
  CHECK(ok(parse_since("3h", now)) == now - std::chrono::hours(3));
  CHECK(ok(parse_since("7d", now)) == now - std::chrono::hours(168));
  CHECK(ok(parse_since("0s", now)) == now);
  for (const char* text :
       {"2026-11-27T03:00", "2026-11-27T03:00Z", "2026-11-27T03:00:00", "2026-11-27T03:00:00Z"})
    CHECK(ok(parse_since(text, at(0))) == now);
  CHECK(ok(parse_since("2026-11-27", now)) == now - std::chrono::hours(3));
  CHECK(ok(parse_since("2024-02-29", now)) < now);
}

TEST_CASE("other texts are no times") {
  for (const char* text : {"",
                           "h",
                           "3",
                           "3w",
                           "-3h",
                           "+3h",
                           "3 h",
                           "99999999999999999999h",
                           "1000001d",
                           "2026-11-27 03:00",
                           "2026-02-30",
                           "2026-13-01",
                           "2026-00-01",
                           "2026-11-27T24:00",
                           "2026-11-27T03:60",
                           "2026-11-27T03:00:60",
                           "2026-11-27T03:00+01:00",
                           "yesterday",
                           "2026-1-2",
                           "\x1b[31m"}) {
    INFO(text);
    const auto parsed = parse_since(text, at(0));
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == ErrorCode::invalid_argument);
    CHECK(parsed.error().message.find('\x1b') == std::string::npos);
  }
}
