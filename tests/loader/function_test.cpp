// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"
#include "support/text.hpp"

#include <cubinet/loader/function.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/stream.hpp>

#include <doctest/doctest.h>

#include <cstring>

using namespace cubinet;
using cubinet::test::cluster_cubin;
using cubinet::test::contains;
using cubinet::test::DriverUnderTest;
using cubinet::test::ScaleArguments;
using cubinet::test::with_record;

namespace {

struct LaunchTest : DriverUnderTest {
  LaunchTest() {
    if (!ready) return;
    auto guard = device->make_current();
    REQUIRE(guard);
    current.emplace(*std::move(guard));
    add = function("vector_add");
  }
  // Launches without touching memory: no element is in range.
  Result<void> launch_add(const LaunchConfig& config) const {
    return add.launch(config, static_cast<float*>(nullptr), static_cast<const float*>(nullptr),
                      static_cast<const float*>(nullptr), 0U);
  }
  Error refused(const LaunchConfig& config) const {
    const auto result = launch_add(config);
    REQUIRE(!result);
    CHECK(contains(result.error().message, "'vector_add'"));
    CHECK(contains(result.error().message, device->properties().name));
    return result.error();
  }
  cubinet_stub_launch_record last() const {
    cubinet_stub_launch_record record{};
    REQUIRE(stub->launch_count() > 0);
    REQUIRE(stub->launch(stub->launch_count() - 1, &record) == 1);
    return record;
  }

  std::optional<Device::ContextGuard> current;
  Function add;
};

}  // namespace

TEST_CASE("What a launch leaves open comes from the record") {
  const LaunchTest test;
  if (!test.ready) return;
  REQUIRE(test.launch_add({.grid = {3, 1, 1}}));
  if (test.stub == nullptr) return;
  const auto launch = test.last();
  CHECK(std::string(launch.kernel) == "vector_add");
  CHECK(launch.grid[0] == 3);
  CHECK(launch.block[0] == 128);
  CHECK(launch.block[1] == 1);
  CHECK(launch.dynamic_shared_bytes == 0);
  CHECK(launch.cooperative == 0);
  CHECK(launch.programmatic == 0);
  const Function shared = test.function("shared_sum");
  REQUIRE(shared.launch({}, static_cast<unsigned*>(nullptr), 0U));
  CHECK(test.last().dynamic_shared_bytes == 1024);
}

TEST_CASE("What a launch states is what the driver gets") {
  const LaunchTest test;
  if (!test.ready) return;
  const auto stream = Stream::create(test.device);
  REQUIRE(stream);
  REQUIRE(test.launch_add(
      {.grid = {4, 5, 6}, .block = {8, 4, 2}, .dynamic_shared_bytes = 4096, .stream = stream->handle()}));
  CHECK(stream->synchronize());
  if (test.stub == nullptr) return;
  const auto launch = test.last();
  const std::uint32_t grid[3] = {4, 5, 6};
  const std::uint32_t block[3] = {8, 4, 2};
  CHECK(std::memcmp(launch.grid, grid, sizeof(grid)) == 0);
  CHECK(std::memcmp(launch.block, block, sizeof(block)) == 0);
  CHECK(launch.dynamic_shared_bytes == 4096);
  CHECK(launch.stream == stream->handle());
}

TEST_CASE("Arguments arrive byte by byte") {
  const LaunchTest test;
  if (!test.ready) return;
  const auto buffer = DeviceBuffer::allocate(test.device, 4096);
  REQUIRE(buffer);
  const ScaleArguments arguments{buffer->as<float>(), buffer->as<const float>() + 512, 2.5F, 128};
  REQUIRE(test.function("scale").launch({}, arguments));
  if (test.stub == nullptr) return;
  const auto launch = test.last();
  REQUIRE(launch.argument_bytes == sizeof(arguments));
  CHECK(std::memcmp(launch.arguments, &arguments, sizeof(arguments)) == 0);
}

TEST_CASE("Arguments of the wrong number or size are refused with what the kernel takes") {
  const LaunchTest test;
  if (!test.ready || test.driver->version() < 12040) return;
  float* const pointer = nullptr;
  const auto few = test.add.launch({}, pointer, pointer, pointer);
  REQUIRE(!few);
  CHECK(few.error().code == ErrorCode::invalid_argument);
  CHECK(contains(few.error().message, "takes 4 arguments of 8, 8, 8 and 4 bytes; given were 3, of 8, 8, 8"));
  CHECK(test.add.launch({}, pointer, pointer, pointer, 0U, 0U).error().code == ErrorCode::invalid_argument);
  CHECK(test.add.launch({}).error().code == ErrorCode::invalid_argument);
  const auto wide = test.add.launch({}, pointer, pointer, pointer, std::uint64_t{0});
  REQUIRE(!wide);
  CHECK(contains(wide.error().message, "of 8, 8, 8, 8"));
  struct Smaller {
    char bytes[16];
  };
  const auto structure = test.function("scale").launch({}, Smaller{});
  REQUIRE(!structure);
  CHECK(contains(structure.error().message, "1 argument of 24 bytes; given were 1, of 16"));
}

TEST_CASE("Raw arguments that are not there are refused") {
  const LaunchTest test;
  if (!test.ready) return;
  const float* pointer = nullptr;
  const unsigned count = 0;
  const void* values[] = {&pointer, &pointer, nullptr, &count};
  const std::uint32_t sizes[] = {8, 8, 8, 4};
  CHECK(test.add.launch_raw({}, nullptr, sizes, 4).error().code == ErrorCode::invalid_argument);
  CHECK(test.add.launch_raw({}, values, nullptr, 4).error().code == ErrorCode::invalid_argument);
  const auto hole = test.add.launch_raw({}, values, sizes, 4);
  REQUIRE(!hole);
  CHECK(contains(hole.error().message, "of 8, 8, null, 4"));
  values[2] = &pointer;
  CHECK(test.add.launch_raw({}, values, sizes, 4));
}

TEST_CASE("An empty handle is refused and not called") {
  const Function nothing;
  CHECK(!nothing);
  CHECK(nothing.launch({}).error().code == ErrorCode::invalid_argument);
  CHECK(nothing.maximum_blocks_per_multiprocessor(128, 0).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("An empty or oversized grid is refused by name") {
  const LaunchTest test;
  if (!test.ready) return;
  for (const std::array<std::uint32_t, 3> grid :
       {std::array<std::uint32_t, 3>{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}) {
    const Error error = test.refused({.grid = grid});
    CHECK(error.code == ErrorCode::invalid_argument);
    CHECK(contains(error.message, "is empty"));
  }
  for (const std::array<std::uint32_t, 3> grid :
       {std::array<std::uint32_t, 3>{0x80000000U, 1, 1}, {1, 65536, 1}, {1, 1, 65536}}) {
    const Error error = test.refused({.grid = grid});
    CHECK(error.code == ErrorCode::invalid_argument);
    CHECK(contains(error.message, "2147483647 x 65535 x 65535"));
  }
  CHECK(test.launch_add({.grid = {1, 65535, 1}}));
}

TEST_CASE("An empty or oversized block is refused by name") {
  const LaunchTest test;
  if (!test.ready) return;
  for (const std::array<std::uint32_t, 3> block : {std::array<std::uint32_t, 3>{1025, 1, 1},
                                                   {1024, 2, 1},
                                                   {1, 1, 65},
                                                   {65536, 65536, 1},
                                                   {16, 0, 1},
                                                   {16, 1, 0}}) {
    const Error error = test.refused({.block = block});
    CHECK(error.code == ErrorCode::invalid_argument);
    CHECK(contains(error.message, "a block of " + std::to_string(block[0])));
  }
  const Cubin silent =
      with_record(test.cubin(), [](CubinRecord& record) { record.entry_points[0].threads = 0; });
  const auto function = test.load(silent)->function("vector_add");
  REQUIRE(function);
  float* const pointer = nullptr;
  CHECK(contains(function->launch({}, pointer, pointer, pointer, 0U).error().message, "is empty"));
  CHECK(function->launch({.block = {32, 1, 1}}, pointer, pointer, pointer, 0U));
}

TEST_CASE("Dynamic shared memory above 48 KiB is opted into once") {
  const LaunchTest test;
  if (!test.ready) return;
  const Function sum = test.function("shared_sum");
  const auto out = DeviceBuffer::allocate(test.device, 4);
  REQUIRE(out);
  const std::uint32_t limit = test.device->properties().maximum_shared_bytes_per_block;
  const unsigned before = test.stub == nullptr ? 0 : test.stub->calls("cuFuncSetAttribute");
  for (const std::uint32_t bytes : {48U * 1024, 64U * 1024, 96U * 1024, limit - 16}) {
    CHECK(sum.launch({.dynamic_shared_bytes = bytes}, out->as<unsigned>(), bytes / 4));
  }
  if (test.stub != nullptr) CHECK(test.stub->calls("cuFuncSetAttribute") == before + 1);
  for (const std::uint32_t bytes : {limit, limit + 1, UINT32_MAX - 1}) {
    const auto result = sum.launch({.dynamic_shared_bytes = bytes}, out->as<unsigned>(), 0U);
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::unsupported);
    CHECK(contains(result.error().message, std::to_string(bytes)));
    CHECK(contains(result.error().message, std::to_string(limit)));
  }
}

TEST_CASE("Clusters divide the grid and large ones are asked for") {
  const LaunchTest test;
  if (!test.ready || !test.device->properties().cluster_launch) return;
  const auto module = test.load(cluster_cubin(test.target()));
  const Function ranks = *module->function();
  const auto out = DeviceBuffer::allocate(test.device, 256);
  REQUIRE(out);
  const auto launch = [&](const LaunchConfig& config) {
    return ranks.launch(config, out->as<unsigned>(), out->as<unsigned>() + 32);
  };
  CHECK(launch({.grid = {4, 1, 1}}));
  if (test.stub != nullptr) CHECK(test.last().cluster[0] == 2);
  CHECK(launch({.grid = {8, 1, 1}, .cluster = {8, 1, 1}}));
  CHECK(launch({.grid = {16, 1, 1}, .cluster = {16, 1, 1}}));
  if (test.stub != nullptr) CHECK(test.last().cluster[0] == 16);
  CHECK(launch({.grid = {3, 1, 1}, .cluster = {1, 1, 1}}));
  for (const std::array<std::uint32_t, 3> cluster : {std::array<std::uint32_t, 3>{3, 1, 1},
                                                     {2, 0, 1},
                                                     {2, 2, 1},
                                                     {65536, 65536, 1},
                                                     {0x80000000U, 2, 1}}) {
    const auto result = launch({.grid = {16, 1, 1}, .cluster = cluster});
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::invalid_argument);
    CHECK(contains(result.error().message, "do not divide"));
  }
  const auto huge = launch({.grid = {32, 1, 1}, .cluster = {32, 1, 1}});
  REQUIRE(!huge);
  CHECK(huge.error().code == ErrorCode::driver);
  CHECK(contains(huge.error().message, "CUDA_ERROR_INVALID_CLUSTER_SIZE"));
}

TEST_CASE("A programmatic launch is made only for kernels that wait themselves") {
  const LaunchTest test;
  if (!test.ready) return;
  const auto buffer = DeviceBuffer::allocate(test.device, 4096);
  REQUIRE(buffer);
  const auto data = buffer->as<unsigned>();
  const auto times = buffer->as<unsigned long long>() + 256;
  const bool possible = test.device->properties().capability.major >= 9;
  const LaunchConfig config{.programmatic_launch = true};
  REQUIRE(test.function("produce").launch(config, data, 1U, times));
  if (test.stub != nullptr) CHECK(test.last().programmatic == 0);
  REQUIRE(test.function("consume").launch(config, data, data + 128, times));
  if (test.stub != nullptr) CHECK(test.last().programmatic == (possible ? 1 : 0));
  REQUIRE(test.function("consume").launch({}, data, data + 128, times));
  if (test.stub != nullptr) CHECK(test.last().programmatic == 0);
}

TEST_CASE("A cooperative launch follows the record or the caller") {
  const LaunchTest test;
  if (!test.ready) return;
  const auto buffer = DeviceBuffer::allocate(test.device, 4096);
  REQUIRE(buffer);
  REQUIRE(buffer->fill(std::byte{0}));
  REQUIRE(
      test.function("meet").launch({.grid = {8, 1, 1}}, buffer->as<unsigned>(), buffer->as<unsigned>() + 1));
  if (test.stub != nullptr) CHECK(test.last().cooperative == 1);
  REQUIRE(test.launch_add({.cooperative = true}));
  if (test.stub != nullptr) CHECK(test.last().cooperative == 1);
  const auto large = test.launch_add({.grid = {1000000, 1, 1}, .cooperative = true});
  REQUIRE(!large);
  CHECK(contains(large.error().message, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"));
}

TEST_CASE("Occupancy is what the driver answers") {
  const LaunchTest test;
  if (!test.ready) return;
  const auto small = test.add.maximum_blocks_per_multiprocessor(128, 0);
  REQUIRE(small);
  CHECK(*small >= 8);
  const auto large = test.add.maximum_blocks_per_multiprocessor(128, 90 * 1024);
  REQUIRE(large);
  CHECK(*large >= 1);
  CHECK(*large < *small);
  if (test.stub != nullptr) {  // the last answer is kept
    const unsigned before = test.stub->calls(nullptr);
    CHECK(*test.add.maximum_blocks_per_multiprocessor(128, 90 * 1024) == *large);
    CHECK(test.stub->calls(nullptr) == before);
    CHECK(*test.add.maximum_blocks_per_multiprocessor(128, 0) == *small);
    CHECK(test.stub->calls(nullptr) > before);
  }
  CHECK(test.add.maximum_blocks_per_multiprocessor(0, 0).error().code == ErrorCode::invalid_argument);
  CHECK(test.add.maximum_blocks_per_multiprocessor(1025, 0).error().code == ErrorCode::invalid_argument);
  CHECK(test.add.maximum_blocks_per_multiprocessor(128, 1U << 30U).error().code == ErrorCode::unsupported);
}

TEST_CASE("The clusters that a device holds at once are what the driver answers") {
  const LaunchTest test;
  if (!test.ready || !test.device->properties().cluster_launch) return;
  const auto module = test.load(cluster_cubin(test.target()));
  const Function ranks = *module->function();
  const auto pairs = ranks.maximum_active_clusters({.grid = {2, 1, 1}, .cluster = {2, 1, 1}});
  const auto eights = ranks.maximum_active_clusters({.grid = {8, 1, 1}, .cluster = {8, 1, 1}});
  REQUIRE(pairs);
  REQUIRE(eights);
  CHECK(*eights >= 1);
  CHECK(*pairs > *eights);
  CHECK(ranks.maximum_active_clusters({.grid = {3, 1, 1}, .cluster = {2, 1, 1}}).error().code ==
        ErrorCode::invalid_argument);
  CHECK(Function().maximum_active_clusters({}).error().code == ErrorCode::invalid_argument);
}
