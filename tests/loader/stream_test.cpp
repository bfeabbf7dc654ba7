// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/stream.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using cubinet::test::DriverUnderTest;

namespace {

Result<void> launch_nothing(const DriverUnderTest& test, const Function& add, const Stream& stream) {
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, test.device->make_current());
  return add.launch({.stream = stream.handle()}, static_cast<float*>(nullptr),
                    static_cast<const float*>(nullptr), static_cast<const float*>(nullptr), 0U);
}

}  // namespace

TEST_CASE("A stream takes launches and tells when it is idle") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  CHECK(stream->handle() != nullptr);
  REQUIRE(launch_nothing(test, test.function("vector_add"), *stream));
  REQUIRE(stream->synchronize());
  const auto idle = stream->idle();
  REQUIRE(idle);
  CHECK(*idle);
  CHECK(Stream::create(nullptr).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("Events take the time between two points of a stream") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto stream = Stream::create(test.device);
  const auto begin = Event::create(test.device);
  const auto end = Event::create(test.device);
  REQUIRE(stream);
  REQUIRE(begin);
  REQUIRE(end);
  CHECK(end->milliseconds_since(*begin).error().code == ErrorCode::driver);
  REQUIRE(begin->record(*stream));
  REQUIRE(launch_nothing(test, test.function("vector_add"), *stream));
  REQUIRE(end->record(*stream));
  REQUIRE(end->synchronize());
  const auto elapsed = end->milliseconds_since(*begin);
  REQUIRE(elapsed);
  CHECK(*elapsed >= 0);
  CHECK(Event::create(nullptr).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("A graph replays the launches that were captured") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  const Function add = test.function("vector_add");
  const std::size_t before = test.stub == nullptr ? 0 : test.stub->launch_count();
  {
    const auto graph = Graph::capture(*stream, [&]() -> Result<void> {
      CUBINET_TRY(launch_nothing(test, add, *stream));
      return launch_nothing(test, add, *stream);
    });
    REQUIRE(graph);
    if (test.stub != nullptr) CHECK(test.stub->launch_count() == before);
    CHECK(graph->launch(*stream));
    CHECK(graph->launch(*stream));
    CHECK(stream->synchronize());
    if (test.stub != nullptr) CHECK(test.stub->launch_count() == before + 4);
  }
  if (test.stub != nullptr) CHECK(test.stub->live("graph") == 0);
}

TEST_CASE("A stream says whether it is being captured") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  const auto asked = [&](CUstream handle) {
    const auto capturing = is_capturing(*test.device, handle);
    REQUIRE(capturing);
    return *capturing;
  };
  CHECK_FALSE(asked(stream->handle()));
  CHECK_FALSE(asked(nullptr));
  bool inside = false;
  REQUIRE(Graph::capture(*stream, [&]() -> Result<void> {
    inside = asked(stream->handle());
    return {};
  }));
  CHECK(inside);
  CHECK_FALSE(asked(stream->handle()));
}

TEST_CASE("A module may be loaded for the first time inside a capture") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  const Cubin cubin = test.cubin();
  std::shared_ptr<const Module> module;
  const auto graph = Graph::capture(*stream, [&]() -> Result<void> {
    CUBINET_TRY_ASSIGN(module, Module::load(test.device, cubin));
    CUBINET_TRY_ASSIGN(const Function add, module->function("vector_add"));
    return launch_nothing(test, add, *stream);
  });
  REQUIRE(graph);
  CHECK(graph->launch(*stream));
  CHECK(stream->synchronize());
}

TEST_CASE("An error inside a capture is handed on and the stream goes on working") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  const auto graph = Graph::capture(*stream, []() -> Result<void> {
    return Error{ErrorCode::not_found, "no such kernel"};
  });
  REQUIRE(!graph);
  CHECK(graph.error().message == "no such kernel");
  CHECK(launch_nothing(test, test.function("vector_add"), *stream));
  CHECK(stream->synchronize());
  if (test.stub != nullptr) CHECK(test.stub->live("graph") == 0);
}
