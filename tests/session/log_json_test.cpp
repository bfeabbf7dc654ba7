// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/log_json.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <array>

using namespace cubinet;

TEST_CASE("a record is one line of JSON with its fields") {
  const std::array<LogField, 3> fields = {LogField{"event", "kernel"}, LogField{"device", std::int64_t{1}},
                                          LogField{"seconds", 1.5}};
  const std::chrono::system_clock::time_point time{std::chrono::milliseconds(1795748400123)};
  const LogRecord record{LogLevel::warning, "a \"line\"", fields};
  CHECK(
      log_line(record, time) ==
      R"({"time":"2026-11-27T03:00:00.123Z","level":"warning","message":"a \"line\"","event":"kernel","device":1,"seconds":1.5})");
  CHECK(log_fields(record) == R"({"event":"kernel","device":1,"seconds":1.5})");
  CHECK(log_fields({LogLevel::info, "plain"}) == "{}");
}

TEST_CASE("names with newlines, control characters and bytes that are not UTF8 stay on one line") {
  const std::string name = "a\nb\x1b[31m\xff\xe2\x80\xae";
  const std::array<LogField, 1> fields = {LogField{"kernel", name}};
  const std::string line = log_line({LogLevel::info, name, fields});
  for (const char c : line)
    CHECK((static_cast<unsigned char>(c) >= 0x20 && c != '\x7f'));
  const auto parsed = nlohmann::json::parse(line);
  CHECK(parsed["kernel"].get<std::string>() == "a\nb\x1b[31m\xef\xbf\xbd\xe2\x80\xae");
}
