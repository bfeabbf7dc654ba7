// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/module_cache.hpp>
#include <cubinet/loader/stream.hpp>

#include <doctest/doctest.h>

#include <optional>

using namespace cubinet;
using cubinet::test::DriverUnderTest;
using cubinet::test::needs_stub;

namespace {

Result<void> launch_nothing(const Function& add, const Stream& stream) {
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, add.device().make_current());
  float* const pointer = nullptr;
  return add.launch({.stream = stream.handle()}, pointer, pointer, pointer, 0U);
}

// Captures two launches of a module that only the cache and the graph keep afterwards.
Result<Graph> capture_released(const DriverUnderTest& test, ModuleCache& cache, const Stream& stream) {
  CUBINET_TRY_ASSIGN(const auto module, cache.get_or_load(test.device, test.cubin()));
  CUBINET_TRY_ASSIGN(const Function add, module->function("vector_add"));
  return Graph::capture(stream, [&]() -> Result<void> {
    CUBINET_TRY(launch_nothing(add, stream));
    return launch_nothing(add, stream);
  });
}

}  // namespace

TEST_CASE("A graph keeps the modules of its launches and gives them to the next trim") {
  const DriverUnderTest test;
  if (needs_stub(test)) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  ModuleCache cache;
  {
    const auto graph = capture_released(test, cache, *stream);
    REQUIRE(graph);
    CHECK(cache.memory().retired_modules == 0);
    CHECK(cache.trim(UINT64_MAX)->modules == 0);
    CHECK(graph->launch(*stream));
    CHECK(test.stub->launch_count() == 2);
  }
  CHECK(cache.memory().retired_modules == 1);
  CHECK(test.stub->live("image") == 1);
  CHECK(cache.trim(UINT64_MAX)->modules == 1);
  CHECK(test.stub->live("image") == 0);
}

TEST_CASE("A graph that outlives every owner of its module leaves the unloading to a later call") {
  DriverUnderTest test;
  if (needs_stub(test)) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  std::optional<Graph> graph;
  {
    ModuleCache cache;
    graph.emplace(*capture_released(test, cache, *stream));
  }
  CHECK(test.stub->live("image") == 1);
  CHECK(graph->launch(*stream));
  CHECK(test.stub->calls("cuLibraryUnload") == 0);
  graph.reset();
  // Calls of the driver are forbidden where the graph drops the module.
  CHECK(test.stub->live("image") == 1);
  { const auto other = test.load(cubinet::test::cluster_cubin(test.target())); }
  CHECK(test.stub->live("image") == 0);
}

TEST_CASE("A trim during a capture is an error and unloads nothing") {
  const DriverUnderTest test;
  if (needs_stub(test)) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  ModuleCache cache;
  REQUIRE(cache.get_or_load(test.device, test.cubin()));
  std::optional<Result<TrimmedModules>> trimmed;
  REQUIRE(Graph::capture(*stream, [&]() -> Result<void> {
    trimmed = cache.trim(UINT64_MAX);
    return {};
  }));
  REQUIRE(!*trimmed);
  CHECK(trimmed->error().code == ErrorCode::busy);
  CHECK(cache.memory().retired_modules == 1);
  CHECK(cache.trim(UINT64_MAX)->modules == 1);
}

TEST_CASE("A graph that cannot keep a module makes the launch an error") {
  const DriverUnderTest test;
  if (needs_stub(test)) return;
  for (const char* function : {"cuStreamGetCaptureInfo", "cuUserObjectCreate", "cuGraphRetainUserObject"}) {
    CAPTURE(std::string(function));
    const auto stream = Stream::create(test.device);
    REQUIRE(stream);
    ModuleCache cache;
    test.stub->fail(function, 1, 999);
    const auto graph = capture_released(test, cache, *stream);
    REQUIRE(!graph);
    CHECK(graph.error().message.find(function) != std::string::npos);
    CHECK(cache.memory().retired_modules == 1);
  }
}
