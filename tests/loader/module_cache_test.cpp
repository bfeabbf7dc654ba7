// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/module_cache.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>

using namespace cubinet;
using cubinet::test::DriverUnderTest;
using cubinet::test::needs_stub;
using cubinet::test::with_record;

TEST_CASE("The same bytes are loaded once and stay loaded after their last user") {
  const DriverUnderTest test;
  if (!test.ready) return;
  ModuleCache cache;
  CHECK(cache.memory().modules == 0);
  {
    const auto first = cache.get_or_load(test.device, test.cubin());
    const auto second = cache.get_or_load(test.device, test.cubin());
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->get() == second->get());
    CHECK(cache.memory().modules == 1);
    CHECK(cache.memory().retired_modules == 0);
    if (test.stub != nullptr) CHECK(test.stub->calls("cuLibraryLoadData") == 1);
  }
  CHECK(cache.memory().retired_modules == 1);
  if (test.stub != nullptr) CHECK(test.stub->live("image") == 1);
  CHECK(cache.get_or_load(test.device, test.cubin()));
  if (test.stub != nullptr) CHECK(test.stub->calls("cuLibraryLoadData") == 1);
}

TEST_CASE("The bytes of an image count at each load, and not where a retired module is used again") {
  const DriverUnderTest test;
  if (!test.ready) return;
  ModuleCache cache;
  const std::uint64_t size = test.cubin().image->size();
  const Cubin sized = with_record(test.cubin(), [&](CubinRecord& record) { record.size = size; });
  for (int time = 0; time < 3; ++time)
    REQUIRE(cache.get_or_load(test.device, sized));
  CHECK(cache.loaded_image_bytes() == size);
  REQUIRE(cache.trim(UINT64_MAX)->modules == 1);
  REQUIRE(cache.get_or_load(test.device, sized));
  CHECK(cache.loaded_image_bytes() == 2 * size);
}

TEST_CASE("A trim unloads retired modules least recently used first and no more than it has to") {
  const DriverUnderTest test;
  if (!test.ready) return;
  ModuleCache cache;
  const auto sized = [&](std::uint32_t threads) {
    return with_record(test.cubin(), [&](CubinRecord& record) { record.entry_points[0].threads = threads; });
  };
  std::weak_ptr<const Module> oldest = *cache.get_or_load(test.device, sized(32));
  std::weak_ptr<const Module> middle = *cache.get_or_load(test.device, sized(64));
  const auto kept = *cache.get_or_load(test.device, sized(96));
  const std::uint64_t bytes = kept->bytes();
  CHECK(bytes > 1000);
  CHECK(bytes <= test.cubin().image->size());
  CHECK(cache.memory().bytes == 3 * bytes);
  CHECK(cache.memory().retired_bytes == 2 * bytes);
  CHECK(cache.memory(1).modules == 0);
  {
    const auto used_again = *cache.get_or_load(test.device, sized(32));
    cache.tick();
  }
  CHECK(cache.trim(0)->modules == 0);
  CHECK(cache.trim(UINT64_MAX, 1)->modules == 0);
  const auto first = cache.trim(1);
  REQUIRE(first);
  CHECK(first->modules == 1);
  CHECK(first->bytes == bytes);
  CHECK(middle.expired());
  CHECK(!oldest.expired());
  CHECK(cache.trim(UINT64_MAX, 0)->modules == 1);
  CHECK(oldest.expired());
  CHECK(cache.memory().modules == 1);
  if (test.stub != nullptr) {
    CHECK(test.stub->live("image") == 1);
    CHECK(test.stub->calls("cuCtxSynchronize") == 2);
  }
  CHECK(kept->function("scale"));
}

TEST_CASE("A trim that cannot wait for the device unloads nothing") {
  const DriverUnderTest test;
  if (cubinet::test::needs_stub(test)) return;
  ModuleCache cache;
  REQUIRE(cache.get_or_load(test.device, test.cubin()));
  test.stub->fail("cuCtxSynchronize", 1, 719);
  const auto failed = cache.trim(1);
  REQUIRE(!failed);
  CHECK(failed.error().code == ErrorCode::driver);
  CHECK(cache.memory().retired_modules == 1);
  CHECK(test.stub->live("image") == 1);
  CHECK(cache.trim(1)->modules == 1);
  CHECK(test.stub->live("image") == 0);
}

TEST_CASE("A limit makes a load an error or a warning and never unloads") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Cubin wide =
      with_record(test.cubin(), [](CubinRecord& record) { record.entry_points[0].threads = 256; });
  ModuleCache measured;
  const std::uint64_t bytes = (*measured.get_or_load(test.device, test.cubin()))->bytes();
  ModuleCache strict({.bytes = 2 * bytes - 1});
  REQUIRE(strict.get_or_load(test.device, test.cubin()));
  const auto refused = strict.get_or_load(test.device, wide);
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::unavailable);
  CHECK(refused.error().message.find("exceed the limit of " + std::to_string(2 * bytes - 1)) !=
        std::string::npos);
  CHECK(strict.memory().modules == 1);
  CHECK(strict.get_or_load(test.device, test.cubin()));
  REQUIRE(strict.trim(UINT64_MAX));
  CHECK(strict.get_or_load(test.device, wide));

  std::vector<std::string> lines;
  ModuleCache warned({.bytes = 1, .excess = ModuleLimit::Excess::warning}, [&](const LogRecord& record) {
    if (record.level == LogLevel::warning) lines.emplace_back(record.message);
  });
  CHECK(warned.get_or_load(test.device, test.cubin()));
  CHECK(lines.size() == 1);
}

TEST_CASE("Modules outlive the cache that loaded them") {
  const DriverUnderTest test;
  if (!test.ready) return;
  std::shared_ptr<const Module> module;
  {
    ModuleCache cache;
    module = *cache.get_or_load(test.device, test.cubin());
  }
  CHECK(module->function("scale"));
}

TEST_CASE("Two handles of one device share a module") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto other = Device::open(test.driver, 0);
  REQUIRE(other);
  ModuleCache cache;
  const auto first = cache.get_or_load(test.device, test.cubin());
  const auto second = cache.get_or_load(*other, test.cubin());
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->get() == second->get());
}

TEST_CASE("Equal bytes under a record that launches them differently are loaded apart") {
  const DriverUnderTest test;
  if (!test.ready) return;
  ModuleCache cache;
  const auto first = cache.get_or_load(test.device, test.cubin());
  const Cubin wide =
      with_record(test.cubin(), [](CubinRecord& record) { record.entry_points[0].threads = 256; });
  const auto second = cache.get_or_load(test.device, wide);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->get() != second->get());
  CHECK((*second)->record().entry_points[0].threads == 256);
  const Cubin renamed = with_record(wide, [](CubinRecord& record) { record.compiler = "another"; });
  CHECK(cache.get_or_load(test.device, renamed)->get() == second->get());
}

TEST_CASE("Sixteen threads that ask for one module get one") {
  const DriverUnderTest test;
  if (!test.ready) return;
  if (test.stub != nullptr) test.stub->delay("cuLibraryLoadData", 20000);
  const Cubin cubin = test.cubin();
  ModuleCache cache;
  std::vector<std::shared_ptr<const Module>> modules(16);
  std::vector<std::thread> threads;
  std::atomic<bool> go = false;
  for (auto& module : modules) {
    threads.emplace_back([&cache, &test, &cubin, &go, &module] {
      while (!go) {
      }
      if (auto loaded = cache.get_or_load(test.device, cubin)) module = *std::move(loaded);
    });
  }
  go = true;
  for (std::thread& thread : threads)
    thread.join();
  REQUIRE(modules[0] != nullptr);
  CHECK(std::set<std::shared_ptr<const Module>>(modules.begin(), modules.end()).size() == 1);
  if (test.stub != nullptr) CHECK(test.stub->calls("cuLibraryLoadData") == 1);
}

TEST_CASE("Threads that load, drop and trim modules at random leave none behind") {
  const DriverUnderTest test;
  if (!test.ready) return;
  std::vector<Cubin> cubins;
  for (std::uint32_t threads : {32U, 64U, 96U}) {
    cubins.push_back(
        with_record(test.cubin(), [&](CubinRecord& record) { record.entry_points[0].threads = threads; }));
  }
  ModuleCache cache;
  std::atomic<unsigned> wrong = 0;
  std::vector<std::thread> workers;
  for (unsigned worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&cache, &test, &cubins, &wrong, worker] {
      for (unsigned i = 0; i < 100; ++i) {
        const Cubin& cubin = cubins[(i * 7 + worker) % cubins.size()];
        const auto module = cache.get_or_load(test.device, cubin);
        if (!module || (*module)->record().entry_points != cubin.record->entry_points) ++wrong;
        if (i % 5 == worker && !cache.trim(i % 2 == 0 ? 1 : UINT64_MAX)) ++wrong;
      }
    });
  }
  for (std::thread& worker : workers)
    worker.join();
  CHECK(wrong == 0);
  CHECK(cache.trim(UINT64_MAX));
  CHECK(cache.memory().modules == 0);
  if (test.stub != nullptr) CHECK(test.stub->live("image") == 0);
}

// Runs `work` on a thread and `meanwhile` during a delayed driver call of it. Repeats both, with a
// longer delay, until `meanwhile` has ended before `work`.
template <class Prepare, class Work, class Meanwhile>
void during(const DriverUnderTest& test, const char* function, Prepare prepare, Work work,
            Meanwhile meanwhile) {
  for (unsigned delay = 50'000; delay < 60'000'000; delay *= 2) {
    prepare();
    test.stub->delay(function, delay);
    const unsigned calls = test.stub->calls(function);
    std::atomic<bool> ended = false;
    std::thread thread([&] {
      work();
      ended = true;
    });
    while (test.stub->calls(function) == calls)
      std::this_thread::yield();
    test.stub->delay(function, 0);
    const auto check = meanwhile();
    const bool in_time = !ended;
    thread.join();
    if (!in_time) continue;
    check();
    return;
  }
  FAIL("the driver call was never long enough");
}

TEST_CASE("A module that a trim waits for is counted, and a request takes it back without a load") {
  const DriverUnderTest test;
  if (!test.ready || needs_stub(test)) return;
  std::optional<ModuleCache> cache;
  std::optional<Result<TrimmedModules>> trimmed;
  const auto prepare = [&] {
    cache.emplace();
    REQUIRE(cache->get_or_load(test.device, test.cubin()));
  };
  const auto trim = [&] { trimmed = cache->trim(UINT64_MAX); };
  during(test, "cuCtxSynchronize", prepare, trim, [&] {
    const ModuleMemory memory = cache->memory();
    const auto second = cache->trim(UINT64_MAX);  // leaves it to the first
    const unsigned loads = test.stub->calls("cuLibraryLoadData");
    const bool found = cache->get_or_load(test.device, test.cubin()).has_value();
    const unsigned loaded = test.stub->calls("cuLibraryLoadData") - loads;
    return [=, &trimmed] {
      CHECK(memory.modules == 1);
      CHECK(memory.retired_modules == 1);
      CHECK(second->modules == 0);
      CHECK(found);
      CHECK(loaded == 0);
      CHECK((*trimmed)->modules == 0);
    };
  });
  CHECK(cache->memory().retired_modules == 1);
  CHECK(cache->trim(UINT64_MAX)->modules == 1);
}

TEST_CASE("A module that a reset of its device overtakes during its load is not kept") {
  const DriverUnderTest test;
  if (!test.ready || needs_stub(test)) return;
  std::optional<ModuleCache> cache;
  std::optional<Result<std::shared_ptr<const Module>>> old;
  const auto prepare = [&] { cache.emplace(); };
  const auto load = [&] { old = cache->get_or_load(test.device, test.cubin()); };
  during(test, "cuLibraryLoadData", prepare, load, [&] {
    cache->forget(0);
    const unsigned loads = test.stub->calls("cuLibraryLoadData");
    const auto next = *cache->get_or_load(test.device, test.cubin());
    const unsigned loaded = test.stub->calls("cuLibraryLoadData") - loads;
    return [=, &old] {
      CHECK(loaded == 1);
      REQUIRE(*old);
      CHECK(**old != next);
    };
  });
  CHECK(cache->memory().modules == 1);
}

TEST_CASE("A load that fails is reported and not remembered") {
  const DriverUnderTest test;
  if (!test.ready) return;
  ModuleCache cache;
  const Cubin broken =
      with_record(test.cubin(), [](CubinRecord& record) { record.entry_points[0].symbol = "gone"; });
  for (int i = 0; i < 2; ++i) {
    const auto module = cache.get_or_load(test.device, broken);
    REQUIRE(!module);
    CHECK(module.error().code == ErrorCode::corruption);
  }
  CHECK(cache.memory().modules == 0);
  CHECK(cache.get_or_load(test.device, test.cubin()));
  CHECK(cache.get_or_load(nullptr, test.cubin()).error().code == ErrorCode::invalid_argument);
  CHECK(cache.get_or_load(test.device, {}).error().code == ErrorCode::invalid_argument);
}
