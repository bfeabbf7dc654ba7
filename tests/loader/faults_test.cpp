// SPDX-License-Identifier: Apache-2.0
// Makes every call of every driver function fail. Controls the stub.
#include "driver_api.hpp"
#include "loader/driver_under_test.hpp"
#include "support/text.hpp"

#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/module_cache.hpp>
#include <cubinet/loader/stream.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace cubinet;
using cubinet::test::contains;
using cubinet::test::driver_library;
using cubinet::test::DriverUnderTest;
using cubinet::test::globals_cubin;
using cubinet::test::needs_stub;

namespace {

// Runs every operation of the loader once: open, load, launch, copy, capture, set a variable,
// unload.
Result<void> whole_life(const LogSink& log, const Cubin& cubin, const Cubin& clusters) {
  CUBINET_TRY_ASSIGN(const auto driver, Driver::open(driver_library(), log));
  CUBINET_TRY_ASSIGN(const auto device, Device::open(driver, 0));
  ModuleCache cache;
  CUBINET_TRY_ASSIGN(const auto module, cache.get_or_load(device, cubin));
  CUBINET_TRY_ASSIGN(const auto cluster_module, cache.get_or_load(device, clusters));
  CUBINET_TRY_ASSIGN(const Function sum, module->function("shared_sum"));
  CUBINET_TRY_ASSIGN(const Function ranks, cluster_module->function());
  CUBINET_TRY_ASSIGN(const DeviceBuffer buffer, DeviceBuffer::allocate(device, 256));
  CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(device));
  CUBINET_TRY_ASSIGN(const Event begin, Event::create(device));
  CUBINET_TRY_ASSIGN(const Event end, Event::create(device));
  CUBINET_TRY(buffer.fill(std::byte{0}));
  CUBINET_TRY(begin.record(stream));
  CUBINET_TRY_ASSIGN(const int blocks, sum.maximum_blocks_per_multiprocessor(128, 1024));
  {
    CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device->make_current());
    const LaunchConfig config{.grid = {static_cast<std::uint32_t>(blocks), 1, 1},
                              .dynamic_shared_bytes = 100 * 1024,
                              .stream = stream.handle()};
    CUBINET_TRY(sum.launch(config, buffer.as<unsigned>(), 8U));
    CUBINET_TRY(ranks.launch({.grid = {16, 1, 1}, .cluster = {16, 1, 1}, .stream = stream.handle()},
                             buffer.as<unsigned>(), buffer.as<unsigned>() + 16));
    CUBINET_TRY_ASSIGN(const Graph graph, Graph::capture(stream, [&] {
                         return ranks.launch({.grid = {2, 1, 1}, .stream = stream.handle()},
                                             buffer.as<unsigned>(), buffer.as<unsigned>() + 16);
                       }));
    CUBINET_TRY(graph.launch(stream));
  }
  CUBINET_TRY_ASSIGN(const auto third, cache.get_or_load(device, globals_cubin(cubin.record->target)));
  CUBINET_TRY_ASSIGN(const Global scale, third->global("scale"));
  Bytes values(scale.size());
  CUBINET_TRY(scale.copy_from(values, stream.handle()));
  CUBINET_TRY(scale.copy_to(values, stream.handle()));
  CUBINET_TRY(end.record(stream));
  CUBINET_TRY(end.synchronize());
  CUBINET_TRY(end.milliseconds_since(begin));
  CUBINET_TRY(stream.synchronize());
  CUBINET_TRY(stream.idle());
  Bytes bytes(256);
  CUBINET_TRY(buffer.copy_from(bytes));
  return buffer.copy_to(bytes);
}

// Returns whether destructors also call the function. If it fails, the object remains, and the
// failure can only be logged.
bool releases(const char* function) {
  for (const char* part : {"Unload", "Release", "Destroy", "MemFree", "PushCurrent", "PopCurrent"}) {
    if (std::strstr(function, part) != nullptr) return true;
  }
  return false;
}

unsigned living(const DriverUnderTest& test) {
  unsigned total = test.stub->current_contexts();
  for (const char* kind : {"image", "context", "memory", "stream", "event", "graph"})
    total += test.stub->live(kind);
  return total;
}

struct FaultCase {
  const char* function = nullptr;
  unsigned nth = 0;
};

// Makes one call fail. Expects an error that names it, or success if the failure is tolerable, and
// no remaining object. Returns false if the function is called fewer times than that.
bool run_with_fault(const DriverUnderTest& test, const LogSink& log, const FaultCase& fault,
                    const Cubin& cubin, const Cubin& clusters) {
  CAPTURE(std::string(fault.function));
  CAPTURE(fault.nth);
  test.stub->reset();
  test.log->clear();
  test.stub->fail(fault.function, fault.nth, CUDA_ERROR_UNKNOWN);
  const Result<void> outcome = whole_life(log, cubin, clusters);
  if (test.stub->calls(fault.function) < fault.nth) return false;
  if (!outcome) {
    CHECK(outcome.error().native == CUDA_ERROR_UNKNOWN);
    const bool resolving = contains(outcome.error().message, "does not tell its version");
    CHECK((resolving ||
           contains(outcome.error().message, std::string(fault.function) + " gives CUDA_ERROR_UNKNOWN")));
  }
  // An error is either returned or logged, never both and never neither. Unless it was logged, no
  // object remains.
  CHECK(outcome.has_value() == (test.log->size() == 1));
  if (!test.log->empty()) {
    CHECK(releases(fault.function));
    CHECK(contains(test.log->front(), std::string(fault.function) + " gives CUDA_ERROR_UNKNOWN"));
  } else {
    CHECK(living(test) == 0);
  }
  return true;
}

}  // namespace

TEST_CASE("Every driver call may fail and nothing crashes or stays behind" * doctest::test_suite("loop")) {
  DriverUnderTest test;
  if (needs_stub(test)) return;
  const Cubin cubin = test.cubin();
  const Cubin clusters = cubinet::test::cluster_cubin(test.target());
  test.device = nullptr;
  test.driver = nullptr;
  const LogSink log = [lines = test.log](const LogRecord& record) { lines->emplace_back(record.message); };
  test.stub->reset();
  const auto healthy = whole_life(log, cubin, clusters);
  REQUIRE_MESSAGE(healthy.has_value(), healthy.error().to_line());
  REQUIRE(living(test) == 0);
  unsigned cases = 0;
  for (const DriverFunctionName& function : kDriverFunctions) {
    for (unsigned nth = 1; run_with_fault(test, log, {function.name, nth}, cubin, clusters); ++nth)
      ++cases;
  }
  CHECK(cases > 100);
  MESSAGE(cases << " faults injected");
}

TEST_CASE("A launch is one driver call") {
  const DriverUnderTest test;
  if (needs_stub(test)) return;
  const Function add = test.function("vector_add");
  const auto current = test.device->make_current();
  REQUIRE(current);
  const unsigned before = test.stub->calls(nullptr);
  float* const pointer = nullptr;
  REQUIRE(add.launch({}, pointer, pointer, pointer, 0U));
  // One asks whether the stream is captured.
  CHECK(test.stub->calls(nullptr) == before + 2);
  CHECK(test.stub->calls("cuLaunchKernelEx") == 1);
}

TEST_CASE("Herds of different modules load side by side") {
  const DriverUnderTest test;
  if (needs_stub(test)) return;
  const Cubin slow = test.cubin();
  const Cubin quick = cubinet::test::cluster_cubin(test.target());
  ModuleCache cache;
  const auto kept = cache.get_or_load(test.device, quick);
  REQUIRE(kept);
  test.stub->delay("cuLibraryLoadData", 500000);
  std::atomic<bool> loaded = false;
  std::thread loader([&] { loaded = cache.get_or_load(test.device, slow).has_value(); });
  while (test.stub->calls("cuLibraryLoadData") < 2)
    std::this_thread::yield();
  CHECK(cache.get_or_load(test.device, quick)->get() == kept->get());
  CHECK(cache.memory().modules == 1);
  CHECK(!loaded);
  loader.join();
  CHECK(loaded);
}

TEST_CASE("Those who wait for a load that fails hear of it and the next try works") {
  const DriverUnderTest test;
  if (needs_stub(test)) return;
  const Cubin cubin = test.cubin();
  test.stub->delay("cuLibraryLoadData", 200000);
  test.stub->fail("cuLibraryLoadData", 1, CUDA_ERROR_OUT_OF_MEMORY);
  ModuleCache cache;
  std::atomic<unsigned> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto module = cache.get_or_load(test.device, cubin);
      if (!module && module.error().native == CUDA_ERROR_OUT_OF_MEMORY) ++failures;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  // Threads that came after the failure load again. All waiting threads share its result.
  CHECK(failures >= 1);
  CHECK(test.stub->calls("cuLibraryLoadData") <= 2);
  CHECK(cache.get_or_load(test.device, cubin));
}

TEST_CASE("A driver that has shut down is left in silence") {
  DriverUnderTest test;
  if (needs_stub(test)) return;
  auto module = test.load(test.cubin());
  auto buffer = DeviceBuffer::allocate(test.device, 16);
  REQUIRE(buffer);
  test.stub->shut_down();
  module = nullptr;
  buffer = Error{ErrorCode::internal, "gone"};
  test.device = nullptr;
  CHECK(test.log->empty());
  CHECK(test.stub->calls("cuLibraryUnload") == 1);
}
