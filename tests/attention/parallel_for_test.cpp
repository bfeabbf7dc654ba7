// SPDX-License-Identifier: Apache-2.0
#include "parallel_for.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <vector>

namespace cubinet {
namespace {

TEST_CASE("Every index is worked on exactly once, whatever the number of threads") {
  for (const unsigned threads : {0u, 1u, 3u, 16u}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{1000}}) {
      std::vector<std::atomic<int>> calls(count);
      parallel_for(count, threads, [&](std::size_t i) { ++calls[i]; });
      for (const auto& number : calls)
        REQUIRE(number == 1);
    }
  }
}

}  // namespace
}  // namespace cubinet
