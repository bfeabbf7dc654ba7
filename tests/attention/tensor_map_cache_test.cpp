// SPDX-License-Identifier: Apache-2.0
#include "tensor_map_cache.hpp"

#include "bound_fixture.hpp"

#include <thread>
#include <vector>

namespace cubinet {
namespace {

using namespace test;

TensorMapDescription pages_at(std::uint64_t address) {
  TensorMapDescription map;
  map.rank = 2;
  map.address = address;
  map.sizes = {64, 1024, 1, 1, 1};
  map.strides_bytes = {128, 0, 0, 0};
  map.box = {64, 64, 1, 1, 1};
  return map;
}

TEST_CASE("what is remembered is what the driver would encode, for more maps than are remembered") {
  const BoundSetting setting;
  TensorMapCache cache;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const TensorMapDescription map = pages_at(0x10000 + i * 16);
      TensorMap cached;
      ok(cache.write(*setting.device, map, cached.bytes.data()));
      REQUIRE(cached.bytes == ok(encode_tensor_map(*setting.device, map)).bytes);
    }
  }
}

TEST_CASE("a map that is refused is refused again, and hides none that is good") {
  const BoundSetting setting;
  TensorMapCache cache;
  TensorMap target;
  CHECK_FALSE(cache.write(*setting.device, pages_at(0x10008), target.bytes.data()));
  CHECK_FALSE(cache.write(*setting.device, pages_at(0x10008), target.bytes.data()));
  CHECK(cache.write(*setting.device, pages_at(0x10000), target.bytes.data()));
}

TEST_CASE("threads that use one cache at once get each its own map") {
  const BoundSetting setting;
  TensorMapCache cache;
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const TensorMapDescription map = pages_at(0x10000 + (i % 7) * 16);
        const auto expected = encode_tensor_map(*setting.device, map);
        TensorMap cached;
        if (!cache.write(*setting.device, map, cached.bytes.data()) || cached.bytes != expected->bytes)
          ++wrong[thread];
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

}  // namespace
}  // namespace cubinet
