// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/log.hpp>

#include <doctest/doctest.h>

#include <string>

namespace cubinet {
namespace {

TEST_CASE("a sink gets the level and the line, no sink is silence") {
  std::string said;
  const LogSink sink = [&](const LogRecord& record) {
    said += std::string(to_string(record.level)) + " " + std::string(record.message) + ";";
  };
  log(sink, LogLevel::debug, "a");
  log(sink, LogLevel::info, "b");
  log(sink, LogLevel::warning, "c");
  log(sink, LogLevel::error, "d");
  log({}, LogLevel::error, "lost");
  CHECK(said == "debug a;info b;warning c;error d;");
}

}  // namespace
}  // namespace cubinet
