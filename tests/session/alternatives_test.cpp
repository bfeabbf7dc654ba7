// SPDX-License-Identifier: Apache-2.0
#include "benchmark_setting.hpp"

#include <doctest/doctest.h>

#include <tuple>

using namespace cubinet;
using test::BenchmarkSetting;
using test::ok;
using test::small_case;

TEST_CASE("alternatives of the plan are bound and compared, and wrong ones have no times") {
  const BenchmarkSetting setting;
  if (setting.stub.missing()) return;
  BenchmarkOptions options;
  options.rounds = 1;
  options.alternatives = true;
  options.cases = {small_case()};
  const BenchmarkResult result = ok(benchmark(*setting.session, options));
  REQUIRE(result.rows.size() == 1);
  const BenchmarkRow& row = result.rows[0];
  REQUIRE_FALSE(row.error);
  REQUIRE(row.planned);
  CHECK(row.planned->splits == row.splits);
  REQUIRE(row.alternatives.size() > 2);
  for (const BenchmarkAlternative& alternative : row.alternatives) {
    CHECK(alternative.kernel.find("tile_size_q") != std::string::npos);
    CHECK(std::tie(alternative.kernel, alternative.splits, alternative.blocks) !=
          std::tie(row.planned->kernel, row.planned->splits, row.planned->blocks));
    CHECK_FALSE(alternative.correct);
    CHECK(alternative.seconds.empty());
  }
  CHECK(plan_quality_of(result.rows).rows == 0);
}
