// SPDX-License-Identifier: Apache-2.0
#include "concurrent_sources.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace cubinet;

TEST_CASE("every source is compiled once") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    std::vector<int> calls(count);
    for_each_source(count, [&](std::size_t i) { ++calls[i]; });
    CHECK(calls == std::vector<int>(count, 1));
  }
}

TEST_CASE("a request within another compiles its sources in order on one thread") {
  std::vector<std::size_t> order;
  for_each_source(1, [&](std::size_t) { for_each_source(4, [&](std::size_t i) { order.push_back(i); }); });
  CHECK(order == std::vector<std::size_t>{0, 1, 2, 3});
}
