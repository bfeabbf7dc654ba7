// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/log.hpp>
#include <cubinet/base/sink_scope.hpp>

#include <doctest/doctest.h>

#include <thread>

namespace cubinet {
namespace {

TEST_CASE("a call inside a sink is busy, on that thread and until the sink has returned") {
  CHECK(SinkScope::check_outside("wait"));
  int calls = 0;
  LogSink sink;
  sink = [&](const LogRecord&) {
    const auto inside = SinkScope::check_outside("wait");
    REQUIRE_FALSE(inside);
    CHECK(inside.error().code == ErrorCode::busy);
    CHECK(inside.error().message == "a log sink or a range hook cannot wait");
    std::thread([] { CHECK(SinkScope::check_outside("wait")); }).join();
    if (++calls == 1) log(sink, LogLevel::info, "nested");
    CHECK_FALSE(SinkScope::check_outside("wait"));
  };
  log(sink, LogLevel::info, "outer");
  CHECK(calls == 2);
  CHECK(SinkScope::check_outside("wait"));
}

}  // namespace
}  // namespace cubinet
