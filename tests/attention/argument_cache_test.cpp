// SPDX-License-Identifier: Apache-2.0
#include "argument_cache.hpp"

#include "support/allocation_count.hpp"
#include "tensor_checks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <thread>
#include <vector>

namespace cubinet {
namespace {

using namespace test;

using Argument = std::array<std::byte, 96>;

AttentionTensors tensors_of(std::uint64_t layer) {
  AttentionTensors tensors;
  tensors.q = {0x10000, 4096, {}};
  tensors.k = {0x1000000 + layer * 0x40000, 0x40000, {}};
  tensors.v = {0x8000000 + layer * 0x40000, 0x40000, {}};
  return tensors;
}

Argument argument_of(std::uint64_t layer) {
  Argument argument{};
  for (std::size_t i = 0; i < argument.size(); ++i)
    argument[i] = static_cast<std::byte>(layer * 7 + i);
  return argument;
}

// The target of a look-up that finds nothing keeps this byte.
constexpr std::byte kUntouched{0xee};

TEST_CASE("the argument of each layer of a model is found again, and allocates nothing") {
  ArgumentCache cache(sizeof(Argument));
  const unsigned before = allocations();
  std::size_t missing = 0, wrong = 0;
  for (std::uint64_t layer = 0; layer < 64; ++layer)
    cache.keep(tensors_of(layer), argument_of(layer));
  for (std::uint64_t layer = 0; layer < 64; ++layer) {
    Argument found{};
    if (!cache.find(tensors_of(layer), found)) {
      ++missing;
    } else if (found != argument_of(layer)) {
      ++wrong;
    }
  }
  CHECK(allocations() == before);
  CHECK(missing == 0);
  CHECK(wrong == 0);
}

TEST_CASE("a tensor that moved, grew or lies otherwise is not one that was seen") {
  ArgumentCache cache(sizeof(Argument));
  cache.keep(tensors_of(1), argument_of(1));
  Argument found;
  found.fill(kUntouched);
  for (std::size_t at = 0; at < kAttentionTensors; ++at) {
    CAPTURE(at);
    const auto differs = [&](auto&& change) {
      auto each = std::bit_cast<std::array<DeviceTensor, kAttentionTensors>>(tensors_of(1));
      change(each[at]);
      return !cache.find(std::bit_cast<AttentionTensors>(each), found) && found[0] == kUntouched;
    };
    CHECK(differs([](DeviceTensor& tensor) { tensor.address += 16; }));
    CHECK(differs([](DeviceTensor& tensor) { tensor.bytes += 16; }));
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(differs([i](DeviceTensor& tensor) { tensor.strides[i] += 8; }));
  }
  CHECK(cache.find(tensors_of(1), found));
}

TEST_CASE("of more tensors than there is room for some are forgotten, and none is mistaken for another") {
  ArgumentCache cache(sizeof(Argument));
  std::size_t kept = 0;
  for (std::uint64_t layer = 0; layer < 2000; ++layer)
    cache.keep(tensors_of(layer), argument_of(layer));
  for (std::uint64_t layer = 0; layer < 2000; ++layer) {
    Argument found{};
    if (!cache.find(tensors_of(layer), found)) continue;
    ++kept;
    REQUIRE(found == argument_of(layer));
  }
  CHECK(kept > 200);
  CHECK(kept < 300);
}

TEST_CASE("threads that use one cache at once get each its own argument") {
  ArgumentCache cache(sizeof(Argument));
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const std::uint64_t layer = i % 7;
        Argument found{};
        if (!cache.find(tensors_of(layer), found)) {
          cache.keep(tensors_of(layer), argument_of(layer));
        } else if (found != argument_of(layer)) {
          ++wrong[thread];
        }
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

}  // namespace
}  // namespace cubinet
