// SPDX-License-Identifier: Apache-2.0
// Tests the results of kernels that are launched through the loader. Needs a GPU.
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/module_cache.hpp>
#include <cubinet/loader/stream.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <span>
#include <thread>

using namespace cubinet;
using cubinet::test::cluster_cubin;
using cubinet::test::DriverUnderTest;
using cubinet::test::ScaleArguments;

namespace {

constexpr std::uint32_t kCount = 100000;
constexpr std::uint32_t kThreads = 128;
constexpr std::uint32_t kBlocks = (kCount + kThreads - 1) / kThreads;

struct GpuTest : DriverUnderTest {
  GpuTest() {
    if (!ready) return;
    auto guard = device->make_current();
    REQUIRE(guard);
    current.emplace(*std::move(guard));
  }
  std::optional<Device::ContextGuard> current;
};

template <class T>
DeviceBuffer upload(const std::shared_ptr<const Device>& device, const std::vector<T>& values) {
  auto buffer = DeviceBuffer::copy_of(device, values);
  REQUIRE_MESSAGE(buffer.has_value(), buffer.error().to_line());
  return *std::move(buffer);
}

template <class T>
std::vector<T> download(const DeviceBuffer& buffer, std::size_t count) {
  std::vector<T> values(count);
  REQUIRE(buffer.copy_to(values));
  return values;
}

std::vector<float> ramp(float step) {
  std::vector<float> values(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i)
    values[i] = static_cast<float>(i % 1000) * step;
  return values;
}

void check_ok(const Result<void>& result) {
  CHECK_MESSAGE(result.has_value(), (result ? "" : result.error().to_line()));
}

}  // namespace

TEST_CASE("A vector addition adds") {
  const GpuTest test;
  if (!test.ready) return;
  const DeviceBuffer a = upload(test.device, ramp(1.0F));
  const DeviceBuffer b = upload(test.device, ramp(0.5F));
  const DeviceBuffer out = upload(test.device, std::vector<float>(kCount, -1.0F));
  check_ok(test.function("vector_add")
               .launch({.grid = {kBlocks, 1, 1}}, out.as<float>(), a.as<const float>(), b.as<const float>(),
                       kCount));
  CHECK(download<float>(out, kCount) == ramp(1.5F));
}

TEST_CASE("A structure of arguments arrives whole") {
  const GpuTest test;
  if (!test.ready) return;
  const DeviceBuffer in = upload(test.device, ramp(1.0F));
  const DeviceBuffer out = upload(test.device, std::vector<float>(kCount, -1.0F));
  const ScaleArguments arguments{out.as<float>(), in.as<float>(), 4.0F, kCount};
  check_ok(test.function("scale").launch({.grid = {kBlocks, 1, 1}}, arguments));
  CHECK(download<float>(out, kCount) == ramp(4.0F));
}

TEST_CASE("A block computes in all the shared memory that the device gives") {
  const GpuTest test;
  if (!test.ready) return;
  const Function sum = test.function("shared_sum");
  const DeviceBuffer out = upload(test.device, std::vector<std::uint32_t>(4, 0));
  const std::uint32_t limit = test.device->properties().maximum_shared_bytes_per_block;
  for (const std::uint32_t bytes : {1024U, 48U * 1024, 100U * 1024, limit - 16}) {
    if (bytes > limit - 16) continue;
    const std::uint32_t words = bytes / 4;
    check_ok(sum.launch({.grid = {4, 1, 1}, .dynamic_shared_bytes = bytes}, out.as<std::uint32_t>(), words));
    const std::uint32_t expected = static_cast<std::uint32_t>(std::uint64_t{words} * (words + 1) / 2);
    CHECK(download<std::uint32_t>(out, 4) == std::vector<std::uint32_t>(4, expected));
  }
}

TEST_CASE("Clusters of 2 and of 16 blocks see their size and ranks") {
  const GpuTest test;
  if (!test.ready || !test.device->properties().cluster_launch) return;
  const auto module = test.load(cluster_cubin(test.target()));
  const Function ranks = *module->function();
  const DeviceBuffer out = upload(test.device, std::vector<std::uint32_t>(64, 99));
  for (const std::uint32_t cluster : {2U, 8U, 16U}) {
    check_ok(ranks.launch({.grid = {32, 1, 1}, .cluster = {cluster, 1, 1}}, out.as<std::uint32_t>(),
                          out.as<std::uint32_t>() + 32));
    const auto values = download<std::uint32_t>(out, 64);
    for (std::uint32_t i = 0; i < 32; ++i) {
      CHECK(values[i] == i % cluster);
      CHECK(values[32 + i] == cluster);
    }
  }
}

TEST_CASE("A dependent launch begins before its predecessor ends and sees what it wrote") {
  const GpuTest test;
  if (!test.ready || test.device->properties().capability.major < 9) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  const auto module = test.load(test.cubin());
  const Function produce = *module->function("produce");
  const Function consume = *module->function("consume");
  const DeviceBuffer data = upload(test.device, std::vector<std::uint32_t>(2 * kThreads, 0));
  const DeviceBuffer times = upload(test.device, std::vector<unsigned long long>(2, 0));
  for (const bool programmatic : {false, true, false, true}) {
    const std::uint32_t value = programmatic ? 7 : 5;
    REQUIRE(data.fill(std::byte{0}));
    check_ok(produce.launch({.stream = stream->handle()}, data.as<std::uint32_t>(), value,
                            times.as<unsigned long long>()));
    check_ok(consume.launch({.stream = stream->handle(), .programmatic_launch = programmatic},
                            data.as<const std::uint32_t>(), data.as<std::uint32_t>() + kThreads,
                            times.as<unsigned long long>()));
    REQUIRE(stream->synchronize());
    CHECK(download<std::uint32_t>(data, 2 * kThreads) == std::vector<std::uint32_t>(2 * kThreads, value));
    const auto when = download<unsigned long long>(times, 2);
    CHECK((when[1] < when[0]) == programmatic);
  }
}

TEST_CASE("All blocks of a cooperative launch meet") {
  const GpuTest test;
  if (!test.ready) return;
  const Function meet = test.function("meet");
  const auto resident = meet.maximum_blocks_per_multiprocessor(kThreads, 0);
  REQUIRE(resident);
  const std::uint32_t blocks =
      static_cast<std::uint32_t>(*resident) * test.device->properties().multiprocessors;
  const DeviceBuffer words = upload(test.device, std::vector<std::uint32_t>(blocks + 1, 0));
  check_ok(meet.launch({.grid = {blocks, 1, 1}}, words.as<std::uint32_t>(), words.as<std::uint32_t>() + 1));
  CHECK(download<std::uint32_t>(words, blocks + 1) == std::vector<std::uint32_t>(blocks + 1, blocks));
  CHECK(!meet.launch({.grid = {blocks + 1, 1, 1}}, words.as<std::uint32_t>(), words.as<std::uint32_t>() + 1));
}

TEST_CASE("A graph captured with a first load inside computes at every replay") {
  const GpuTest test;
  if (!test.ready) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  const DeviceBuffer a = upload(test.device, std::vector<float>(kCount, 1.0F));
  const DeviceBuffer sum = upload(test.device, std::vector<float>(kCount, 0.0F));
  const Cubin cubin = test.cubin();
  Function add;
  const auto graph = Graph::capture(*stream, [&]() -> Result<void> {
    CUBINET_TRY_ASSIGN(const auto module, Module::load(test.device, cubin));
    CUBINET_TRY_ASSIGN(add, module->function("vector_add"));
    return add.launch({.grid = {kBlocks, 1, 1}, .stream = stream->handle()}, sum.as<float>(),
                      sum.as<const float>(), a.as<const float>(), kCount);
  });
  REQUIRE_MESSAGE(graph.has_value(), graph.error().to_line());
  for (int i = 0; i < 5; ++i)
    REQUIRE(graph->launch(*stream));
  REQUIRE(stream->synchronize());
  CHECK(download<float>(sum, kCount) == std::vector<float>(kCount, 5.0F));
}

TEST_CASE("Threads launch one function on streams of their own") {
  const GpuTest test;
  if (!test.ready) return;
  const Function add = test.function("vector_add");
  const DeviceBuffer one = upload(test.device, std::vector<float>(kCount, 1.0F));
  std::vector<DeviceBuffer> sums;
  for (int i = 0; i < 4; ++i)
    sums.push_back(upload(test.device, std::vector<float>(kCount, 0.0F)));
  std::vector<unsigned> failures(sums.size(), 0);
  std::vector<std::thread> threads;
  for (std::size_t worker = 0; worker < sums.size(); ++worker) {
    threads.emplace_back([&test, &add, &one, &sum = sums[worker], &failed = failures[worker]] {
      const auto current = test.device->make_current();
      const auto stream = Stream::create(test.device);
      if (!current || !stream) {
        ++failed;
        return;
      }
      for (int i = 0; i < 200; ++i) {
        if (!add.launch({.grid = {kBlocks, 1, 1}, .stream = stream->handle()}, sum.as<float>(),
                        sum.as<const float>(), one.as<const float>(), kCount)) {
          ++failed;
        }
      }
      if (!stream->synchronize()) ++failed;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(failures == std::vector<unsigned>(sums.size(), 0));
  for (const DeviceBuffer& sum : sums) {
    CHECK(download<float>(sum, kCount) == std::vector<float>(kCount, 200.0F));
  }
}

TEST_CASE("Modules come and go while others compute") {
  const GpuTest test;
  if (!test.ready) return;
  const DeviceBuffer a = upload(test.device, ramp(1.0F));
  const DeviceBuffer out = upload(test.device, std::vector<float>(kCount, 0.0F));
  ModuleCache cache;
  for (int i = 0; i < 50; ++i) {
    REQUIRE(cache.trim(UINT64_MAX));
    const auto module = cache.get_or_load(test.device, test.cubin());
    REQUIRE(module);
    const Function add = *(*module)->function("vector_add");
    check_ok(add.launch({.grid = {kBlocks, 1, 1}}, out.as<float>(), out.as<const float>(),
                        a.as<const float>(), kCount));
  }
  CHECK(cache.trim(UINT64_MAX));
  CHECK(cache.memory().modules == 0);
  CHECK(download<float>(out, kCount) == ramp(50.0F));
}

TEST_CASE("A module that a static object holds goes quietly at the end of the process") {
  static std::shared_ptr<const Module> kept;
  const GpuTest test;
  if (!test.ready) return;
  kept = test.load(test.cubin());
  CHECK(kept->function("scale"));
}
