// SPDX-License-Identifier: Apache-2.0
#include "cached_kernel.hpp"
#include "device_fixture.hpp"

#include <cubinet/loader/module.hpp>
#include <cubinet/loader/stream.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

using namespace test;

// A Runtime with a home that has builds of scale_spec(1) to scale_spec(4), none of which it has
// loaded.
struct Service {
  TempDir folder;
  Stub stub;
  RuntimeOptions options = device_options(folder / "h");
  std::shared_ptr<Runtime> runtime;
  std::vector<std::shared_ptr<const Kernel>> kernels;

  explicit Service(ModuleLimit limit = {}) {
    {
      const auto builder = make_runtime(device_options(folder / "h"));
      for (int factor = 1; factor <= 4; ++factor)
        REQUIRE(builder->function(scale_spec(factor), 0));
    }
    options.module_limit = limit;
    options.compile = CompilePolicy::never;
    runtime = make_runtime(options);
    for (int factor = 1; factor <= 4; ++factor)
      kernels.push_back(*runtime->resolve(scale_spec(factor)));
  }
  const Kernel& kernel(std::size_t index) const { return *kernels[index]; }
  unsigned images() const { return stub.calls == nullptr ? 0 : loads() - unloads(); }
  unsigned loads() const { return stub.calls("cuLibraryLoadData"); }
  unsigned unloads() const { return stub.calls("cuLibraryUnload"); }
};

TEST_CASE("the last handle and a release only retire a module, and a request takes it back") {
  const Service service;
  Runtime& runtime = *service.runtime;
  auto function = runtime.function(service.kernel(0), 0);
  REQUIRE(function);
  CHECK(runtime.memory()->modules == 1);
  CHECK(runtime.memory()->idle_modules == 0);
  *function = {};
  CHECK(runtime.memory()->idle_modules == 1);
  CHECK(runtime.memory()->idle_bytes == runtime.memory()->bytes);
  CHECK(runtime.release(service.kernel(0), 0));
  CHECK(runtime.memory()->idle_modules == 0);
  CHECK(runtime.memory()->retired_modules == 1);
  CHECK(runtime.memory(1)->modules == 0);
  REQUIRE(runtime.function(service.kernel(0), 0));
  CHECK(runtime.memory()->idle_modules == 1);
  if (service.stub.calls != nullptr) CHECK(service.images() == 1);
}

TEST_CASE("a trim unloads retired modules first, then idle ones, each least recently used first") {
  const Service service;
  Runtime& runtime = *service.runtime;
  std::vector<std::weak_ptr<const Module>> modules;
  for (const auto& kernel : service.kernels)
    modules.push_back(runtime.function(*kernel, 0)->module());
  const std::uint64_t bytes = modules[1].lock()->bytes();
  CHECK(runtime.function(service.kernel(0), 0));  // used again after the loads
  CHECK(runtime.release(service.kernel(3), 0));
  const auto first = runtime.trim(1);
  REQUIRE(first);
  CHECK(first->modules == 1);
  CHECK(modules[3].expired());
  const auto second = runtime.trim(bytes + 1);
  REQUIRE(second);
  CHECK(second->modules == 2);
  CHECK(second->bytes > bytes);
  CHECK(modules[1].expired());
  CHECK(modules[2].expired());
  CHECK_FALSE(modules[0].expired());
  CHECK(runtime.trim(UINT64_MAX)->modules == 1);
  CHECK(runtime.memory()->bytes == 0);
  REQUIRE(runtime.function(service.kernel(1), 0));
  if (service.stub.calls != nullptr) CHECK(service.images() == 1);
}

TEST_CASE("a trim leaves the modules of Functions, and their kernels in the process cache") {
  const Service service;
  Runtime& runtime = *service.runtime;
  auto kept = runtime.function(service.kernel(0), 0);
  REQUIRE(kept);
  CHECK(runtime.trim(UINT64_MAX)->modules == 0);
  CHECK_FALSE(static_cast<const CachedKernel&>(service.kernel(0)).forget_if_idle(0));
  CHECK(runtime.function(service.kernel(0), 0, {}, LoadPolicy::loaded_only));
  REQUIRE(runtime.function(service.kernel(1), 0));
  CHECK(runtime.release(service.kernel(0), 0));
  CHECK(runtime.trim(UINT64_MAX, 0)->modules == 1);
  CHECK(runtime.memory()->modules == 1);
  CHECK(runtime.memory()->retired_modules == 0);
  *kept = {};
  CHECK(runtime.trim(UINT64_MAX)->modules == 1);
}

TEST_CASE("a module that is in use at a trim counts as used then") {
  const Service service;
  Runtime& runtime = *service.runtime;
  auto first = runtime.function(service.kernel(0), 0);
  REQUIRE(first);
  std::weak_ptr<const Module> second = runtime.function(service.kernel(1), 0)->module();
  REQUIRE(runtime.function(service.kernel(2), 0));
  REQUIRE(runtime.function(service.kernel(1), 0));
  CHECK(runtime.trim(1)->modules == 1);  // that of kernel 2
  *first = {};
  CHECK(runtime.trim(1)->modules == 1);
  CHECK(second.expired());
  CHECK(runtime.function(service.kernel(0), 0, {}, LoadPolicy::loaded_only));
}

TEST_CASE("a Function outlives its Runtime and unloads the module") {
  std::optional<Service> service(std::in_place);
  if (service->stub.missing()) return;
  Function kept = *service->runtime->function(service->kernel(0), 0);
  const auto calls = service->stub.calls;
  REQUIRE(service->runtime->function(service->kernel(1), 0));
  service.reset();
  CHECK(calls("cuLibraryLoadData") - calls("cuLibraryUnload") == 1);
  CHECK(kept.entry_point().name == "scale");
  kept = {};
  CHECK(calls("cuLibraryLoadData") == calls("cuLibraryUnload"));
}

TEST_CASE("a limit refuses the load of another module and names the remedy") {
  std::uint64_t bytes = 0;
  {
    const Service measured;
    REQUIRE(measured.runtime->function(measured.kernel(0), 0));
    bytes = measured.runtime->memory()->bytes;
  }
  const Service service({.bytes = bytes + bytes / 2});
  REQUIRE(service.runtime->function(service.kernel(0), 0));
  const auto refused = service.runtime->function(service.kernel(1), 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unavailable);
  CHECK(refused.error().message.find("scale(factor=2") != std::string::npos);
  CHECK(service.runtime->memory()->modules == 1);
  REQUIRE(service.runtime->trim(UINT64_MAX));
  CHECK(service.runtime->function(service.kernel(1), 0));
}

TEST_CASE("a request for loaded kernels names one that is not loaded and makes no driver call") {
  const Service service;
  Runtime& runtime = *service.runtime;
  REQUIRE(runtime.function(service.kernel(0), 0));
  const unsigned before = service.stub.calls == nullptr ? 0 : service.stub.calls(nullptr);
  CHECK(runtime.function(service.kernel(0), 0, {}, LoadPolicy::loaded_only));
  CHECK(runtime.function(scale_spec(1), 0, "scale_twice", LoadPolicy::loaded_only));
  for (const auto& missing : {runtime.function(service.kernel(1), 0, {}, LoadPolicy::loaded_only),
                              runtime.function(scale_spec(2), 0, {}, LoadPolicy::loaded_only),
                              runtime.function(service.kernel(0), 1, {}, LoadPolicy::loaded_only)}) {
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == ErrorCode::not_found);
    CHECK(missing.error().message.find("is not loaded on device") != std::string::npos);
  }
  if (service.stub.calls != nullptr) CHECK(service.stub.calls(nullptr) == before);
  CHECK(runtime.counters().failures == 3);
}

TEST_CASE("a launch by a look up on a captured stream neither compiles nor loads") {
  Service service;
  service.options.compile = CompilePolicy::on_miss;
  service.runtime = make_runtime(service.options);
  Runtime& runtime = *service.runtime;
  const auto device = *runtime.device(0);
  const auto stream = Stream::create(device);
  REQUIRE(stream);
  const auto current = device->make_current();
  REQUIRE(current);
  const auto built = *runtime.resolve(scale_spec(1));
  const auto unbuilt = *runtime.resolve(scale_spec(9));
  const LaunchConfig config{.stream = stream->handle()};
  for (const auto& kernel : {built, unbuilt}) {
    std::optional<Result<void>> launched;
    REQUIRE(Graph::capture(*stream, [&]() -> Result<void> {
      launched = runtime.launch(*kernel, 0, config, ScaleParameters{});
      return {};
    }));
    REQUIRE_FALSE(*launched);
    CHECK(launched->error().code == ErrorCode::not_found);
    CHECK(launched->error().message.find(kernel->spec().to_string()) == 0);
  }
  CHECK(runtime.memory()->modules == 0);
  CHECK(runtime.counters().compiled == 0);
  // Outside the capture the same call loads. Inside, it then launches.
  REQUIRE(runtime.launch(*built, 0, config, ScaleParameters{}));
  CHECK(Graph::capture(*stream, [&] { return runtime.launch(*built, 0, config, ScaleParameters{}); }));
  CHECK(runtime.memory()->modules == 1);
}

TEST_CASE("a graph keeps the module of a kernel that was released and trimmed") {
  const Service service;
  Runtime& runtime = *service.runtime;
  const auto device = *runtime.device(0);
  const auto stream = Stream::create(device);
  REQUIRE(stream);
  REQUIRE(runtime.function(service.kernel(0), 0));
  std::optional<Result<TrimmedModules>> inside;
  {
    const auto graph = Graph::capture(*stream, [&]() -> Result<void> {
      CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device->make_current());
      CUBINET_TRY(runtime.launch(service.kernel(0), 0, {.stream = stream->handle()}, ScaleParameters{}));
      runtime.release(service.kernel(0), 0);
      return {};
    });
    REQUIRE(graph);
    CHECK(runtime.trim(UINT64_MAX)->modules == 0);
    CHECK(graph->launch(*stream));
    CHECK(stream->synchronize());
  }
  // A real driver ends the graph's reference on a thread of its own.
  for (int i = 0; i < 500 && runtime.memory()->retired_modules == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(runtime.trim(UINT64_MAX)->modules == 1);
}

TEST_CASE("a launch after a reset of the context is a driver error until the device is forgotten") {
  const Service service;
  if (service.stub.missing()) return;
  Runtime& runtime = *service.runtime;
  const auto current = (*runtime.device(0))->make_current();
  const Function old = *runtime.function(service.kernel(0), 0);
  REQUIRE(runtime.function(service.kernel(1), 0));
  REQUIRE(old.launch({}, ScaleParameters{}));
  service.stub.reset_context(0);
  const auto failed = old.launch({}, ScaleParameters{});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::driver);
  CHECK(failed.error().native == 709);
  CHECK_FALSE(runtime.function(service.kernel(0), 0)->launch({}, ScaleParameters{}));
  CHECK(*runtime.forget(1) == 0U);
  CHECK(*runtime.forget(0) == 2U);
  CHECK(runtime.memory()->modules == 0);
  CHECK(runtime.function(service.kernel(0), 0)->launch({}, ScaleParameters{}));
  CHECK_FALSE(old.launch({}, ScaleParameters{}));
  CHECK(service.images() == 2);  // the old Function keeps its own
}

// The end of the range of a load is between the load and its entry in the process cache.
TEST_CASE("a request that a reset of its device overtakes leaves nothing in the process cache") {
  Service service;
  if (service.stub.missing()) return;
  std::shared_ptr<Runtime> runtime;
  std::string phase;
  bool resets = true;
  service.options.ranges = {.begin = [&](const char* name) { phase = name; },
                            .end =
                                [&] {
                                  if (!phase.starts_with("cubinet load") || !std::exchange(resets, false))
                                    return;
                                  service.stub.reset_context(0);
                                  CHECK(*runtime->forget(0) == 0U);
                                  std::thread([&] {  // a request of this thread would be busy
                                    const auto other = (*runtime->device(0))->make_current();
                                    CHECK(runtime->function(scale_spec(1), 0)->launch({}, ScaleParameters{}));
                                  })
                                      .join();
                                }};
  runtime = make_runtime(service.options);
  const auto current = (*runtime->device(0))->make_current();
  const auto old = runtime->function(scale_spec(1), 0);
  REQUIRE(old);
  CHECK_FALSE(resets);
  CHECK_FALSE(old->launch({}, ScaleParameters{}));
  CHECK(runtime->function(scale_spec(1), 0)->launch({}, ScaleParameters{}));
  CHECK(runtime->memory()->modules == 1);
}

TEST_CASE("the modules by state never exceed all modules while kernels are released and loaded") {
  const Service service;
  Runtime& runtime = *service.runtime;
  std::atomic<bool> stop = false;
  std::thread churn([&] {
    for (std::size_t i = 0; !stop; ++i) {
      static_cast<void>(runtime.function(service.kernel(i % 4), 0));
      runtime.release(service.kernel(i % 4), 0);
    }
  });
  unsigned wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto memory = runtime.memory();
    if (!memory || memory->idle_modules + memory->retired_modules > memory->modules ||
        memory->idle_bytes + memory->retired_bytes > memory->bytes)
      ++wrong;
  }
  stop = true;
  churn.join();
  CHECK(wrong == 0);
}

TEST_CASE("an observer may trim") {
  Service service;
  std::weak_ptr<Runtime> weak;
  std::optional<std::uint64_t> trimmed;
  service.options.observer = [&](const KernelEvent&) {
    if (const auto runtime = weak.lock()) trimmed = runtime->trim(UINT64_MAX)->modules;
  };
  const auto runtime = make_runtime(service.options);
  weak = runtime;
  REQUIRE(runtime->function(scale_spec(1), 0));
  // The requested function is returned, so it is kept.
  CHECK(trimmed == 0);
  REQUIRE(runtime->function(scale_spec(2), 0));
  CHECK(trimmed == 1);
}

// Threads of a server: each begins, requests some kernels, launches and ends.
TEST_CASE("a thousand threads start, request and end while others load, retire and trim") {
  const Service service;
  Runtime& runtime = *service.runtime;
  const auto device = *runtime.device(0);
  std::atomic<bool> stop = false;
  std::atomic<unsigned> wrong = 0;
  std::atomic<unsigned> launches = 0;
  const auto ask = [&](unsigned number) {
    const auto current = device->make_current();
    for (unsigned i = 0; i < 3; ++i) {
      const std::size_t index = (number + i) % 4;
      const auto function = number % 2 == 0 ? runtime.function(service.kernel(index), 0)
                                            : runtime.function(scale_spec(static_cast<int>(index) + 1), 0);
      if (!current || !function || !function->launch({}, ScaleParameters{})) ++wrong;
      ++launches;
    }
  };
  std::vector<std::thread> others;
  others.emplace_back([&] {
    for (unsigned i = 0; !stop; ++i) {
      runtime.release(service.kernel(i % 4), 0);
      std::this_thread::yield();
    }
  });
  others.emplace_back([&] {
    for (unsigned i = 0; !stop; ++i) {
      if (!runtime.trim(i % 3 == 0 ? UINT64_MAX : 1)) ++wrong;
      if (!runtime.memory()) ++wrong;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  for (unsigned batch = 0; batch < 40; ++batch) {
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 25; ++thread)
      threads.emplace_back(ask, batch * 25 + thread);
    for (std::thread& thread : threads)
      thread.join();
  }
  stop = true;
  for (std::thread& other : others)
    other.join();
  CHECK(wrong == 0);
  CHECK(launches == 3000);
  for (const auto& kernel : service.kernels)
    runtime.release(*kernel, 0);
  REQUIRE(runtime.trim(UINT64_MAX));
  CHECK(runtime.memory()->modules == 0);
  if (service.stub.calls != nullptr) CHECK(service.images() == 0);
}

// Each of these calls would wait without end if readers could overtake a writer.
TEST_CASE("memory, trims, releases and first requests go on beside threads that hit one kernel") {
  const Service service;
  if (service.stub.missing()) return;
  Runtime& runtime = *service.runtime;
  REQUIRE(runtime.function(service.kernel(0), 0));
  std::atomic<bool> stop = false;
  std::atomic<unsigned> wrong = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 6; ++number) {
    threads.emplace_back([&] {
      while (!stop) {
        if (!runtime.function(service.kernel(0), 0)) ++wrong;
      }
    });
  }
  for (int round = 0; round < 50; ++round) {
    CHECK(runtime.memory());
    CHECK(runtime.trim(UINT64_MAX));
    runtime.release(service.kernel(0), 0);
    CHECK(runtime.resolve(scale_spec(100 + round)));
  }
  stop = true;
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace cubinet
