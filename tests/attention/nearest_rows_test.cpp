// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <cubinet/attention/backend.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

TEST_CASE("the nearest rows come by differences, those that run here first") {
  const AttentionProblem problem = test::generation(64, 1, 8192, 64, 8);
  std::vector<KernelRow> rows = test::rows_for(problem);
  const KernelSelector wanted = rows.front().selector;
  rows.push_back(rows.front());
  rows.back().target = {9, 0, TargetKind::specific};
  const auto nearest = nearest_rows(test::index_of(rows), wanted, 2);
  REQUIRE(nearest.size() == 2);
  CHECK(nearest[0].runs_here);
  CHECK_FALSE(nearest[1].runs_here);
  CHECK(nearest[0].wanted == nearest[0].row->selector);
  CHECK(nearest_rows(test::index_of({}), wanted, 3).empty());
}

TEST_CASE("a near row says what differs, and why it does not run here") {
  std::vector<KernelRow> rows = test::rows_for(test::generation(64, 1, 8192, 64, 8));
  KernelSelector wanted = rows.front().selector;
  wanted.tokens_per_page = 32;
  const auto nearest = nearest_rows(test::index_of(rows, {9, 0}), wanted, 1);
  REQUIRE(nearest.size() == 1);
  const std::string text = nearest[0].to_string({9, 0});
  CHECK(text.find("tokens_per_page 64 instead of 32") != std::string::npos);
  CHECK(text.find("the device is 9.0") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
