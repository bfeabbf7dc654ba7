// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/module_cache.hpp>
#include <cubinet/loader/stream.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace cubinet;
using cubinet::test::DriverUnderTest;

namespace {

constexpr unsigned kElements = 1000;

// A graph that adds two vectors, whose Function has ended.
struct ReleasedGraph {
  std::vector<float> a = std::vector<float>(kElements);
  std::vector<float> b = std::vector<float>(kElements, 0.5F);
  DeviceBuffer first;
  DeviceBuffer second;
  DeviceBuffer sum;
  Stream stream;
  std::optional<Graph> graph;

  static Result<ReleasedGraph> make(const DriverUnderTest& test, ModuleCache& cache) {
    std::vector<float> numbers(kElements);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    const std::vector<float> halves(kElements, 0.5F);
    CUBINET_TRY_ASSIGN(DeviceBuffer first, DeviceBuffer::copy_of(test.device, numbers));
    CUBINET_TRY_ASSIGN(DeviceBuffer second, DeviceBuffer::copy_of(test.device, halves));
    CUBINET_TRY_ASSIGN(DeviceBuffer sum, DeviceBuffer::zeroed(test.device, kElements * sizeof(float)));
    CUBINET_TRY_ASSIGN(Stream stream, Stream::create(test.device));
    ReleasedGraph made{.a = numbers,
                       .b = halves,
                       .first = std::move(first),
                       .second = std::move(second),
                       .sum = std::move(sum),
                       .stream = std::move(stream),
                       .graph = std::nullopt};
    CUBINET_TRY_ASSIGN(const auto module, cache.get_or_load(test.device, test.cubin()));
    CUBINET_TRY_ASSIGN(const Function add, module->function("vector_add"));
    CUBINET_TRY_ASSIGN(Graph graph, Graph::capture(made.stream, [&]() -> Result<void> {
                         CUBINET_TRY_ASSIGN(const Device::ContextGuard current, test.device->make_current());
                         return add.launch({.grid = {8, 1, 1}, .stream = made.stream.handle()},
                                           made.sum.as<float>(), made.first.as<const float>(),
                                           made.second.as<const float>(), kElements);
                       }));
    made.graph.emplace(std::move(graph));
    return made;
  }

  Result<bool> replays_right() const {
    CUBINET_TRY(sum.fill(std::byte{0}));
    CUBINET_TRY(graph->launch(stream));
    CUBINET_TRY(stream.synchronize());
    std::vector<float> result(kElements);
    CUBINET_TRY(sum.copy_to(result));
    for (unsigned i = 0; i < kElements; ++i) {
      if (result[i] != a[i] + b[i]) return false;
    }
    return true;
  }
};

// The driver drops a graph's references on a thread of its own.
bool retires(const ModuleCache& cache, unsigned count) {
  for (int i = 0; i < 500 && cache.memory().retired_modules != count; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return cache.memory().retired_modules == count;
}

}  // namespace

TEST_CASE("A graph of a released kernel replays right after trims and other loads") {
  const DriverUnderTest test;
  if (!test.ready) return;
  ModuleCache cache;
  {
    auto released = ReleasedGraph::make(test, cache);
    REQUIRE(released);
    CHECK(cache.memory().retired_modules == 0);
    CHECK(cache.trim(UINT64_MAX)->modules == 0);
    // The memory of an unloaded module would be used again by these.
    std::vector<std::shared_ptr<const Module>> others;
    for (const std::uint32_t threads : {32U, 64U, 96U, 160U, 192U, 224U, 256U}) {
      const Cubin other = cubinet::test::with_record(
          test.cubin(), [&](CubinRecord& record) { record.entry_points[0].threads = threads; });
      others.push_back(*cache.get_or_load(test.device, other));
    }
    for (int i = 0; i < 3; ++i) {
      const auto right = released->replays_right();
      REQUIRE(right);
      CHECK(*right);
    }
  }
  CHECK(retires(cache, 8));
  CHECK(cache.trim(UINT64_MAX)->modules == 8);
  CHECK(cache.memory().modules == 0);
}

TEST_CASE("A graph that outlives the cache replays right and ends without a crash") {
  const DriverUnderTest test;
  if (!test.ready) return;
  std::optional<ReleasedGraph> released;
  {
    ModuleCache cache;
    auto made = ReleasedGraph::make(test, cache);
    REQUIRE(made);
    released.emplace(*std::move(made));
  }
  const auto right = released->replays_right();
  REQUIRE(right);
  CHECK(*right);
  released.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto other = test.load(test.cubin());  // makes the deferred calls
  CHECK(other->function("scale"));
}

TEST_CASE("A trim in a capture on a real device is an error and unloads nothing") {
  const DriverUnderTest test;
  if (!test.ready) return;
  ModuleCache cache;
  REQUIRE(cache.get_or_load(test.device, test.cubin()));
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  std::optional<Result<TrimmedModules>> trimmed;
  const auto graph = Graph::capture(*stream, [&]() -> Result<void> {
    trimmed = cache.trim(UINT64_MAX);
    return {};
  });
  REQUIRE(!*trimmed);
  MESSAGE(trimmed->error().to_line());
  CHECK(trimmed->error().code == ErrorCode::busy);
  CHECK(cache.memory().retired_modules == 1);
  MESSAGE("the capture: ", (graph ? std::string("went on") : graph.error().to_line()));
  CHECK(cache.trim(UINT64_MAX)->modules == 1);
}

TEST_CASE("Ten thousand loads and trims end without a module") {
  const DriverUnderTest test;
  if (!test.ready) return;
  ModuleCache cache;
  const Cubin cubin = test.cubin();
  for (unsigned i = 0; i < 10000; ++i) {
    REQUIRE(cache.get_or_load(test.device, cubin));
    REQUIRE(cache.trim(UINT64_MAX)->modules == 1);
  }
  CHECK(cache.memory().modules == 0);
}
