// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <cubinet/selection/workspace.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

Selection assumed(const AttentionProblem& problem) {
  return *select(problem, test::kB200, test::index_of({}), test::assume_all());
}

TEST_CASE("a kernel that does not reduce through global memory needs no workspace") {
  CHECK(assumed(test::generation(1, 1, 4096, 32, 4)).workspace == WorkspaceSizes{});
  CHECK(assumed(test::generation(64, 1, 8192, 64, 8)).workspace == WorkspaceSizes{});
  CHECK(assumed(test::context(4, 511, 2047, 8, 2)).workspace == WorkspaceSizes{});
}

TEST_CASE("a reduction in the kernel needs counters, statistics and partial outputs") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  const Selection selection = assumed(problem);
  const WorkspaceSizes& sizes = selection.workspace;
  CHECK(sizes.counter_bytes == 768);  // 152 counters, aligned
  CHECK(sizes.partial_stats_bytes == 128 * 32 * 8);
  CHECK(sizes.partial_output_offset == 128 * 32 * 8);
  CHECK(sizes.partial_output_bytes == 128 * 32 * 128 * 4);
  CHECK(sizes.scratch_bytes == 128 * 32 * (8 + 512));
}

TEST_CASE("a separate reduction needs no counters and halves as partial outputs") {
  const AttentionProblem problem = test::generation(8, 1, 4096, 128, 128, 576, 512);
  const WorkspaceSizes sizes = assumed(problem).workspace;
  CHECK(sizes.counter_bytes == 0);
  // Nine splits of the 128 heads and 512 columns of eight sequences.
  CHECK(sizes.partial_output_bytes == std::uint64_t{8} * 9 * 128 * 512 * 2);
  CHECK(sizes.partial_stats_bytes == std::uint64_t{144} * 64 * 8);
}

TEST_CASE("what is needed is compared with what is given") {
  const WorkspaceSizes sizes = assumed(test::generation(2, 4, 16384, 16, 8)).workspace;
  CHECK(check_workspace(sizes, sizes.counter_bytes, sizes.scratch_bytes));
  const auto counters = check_workspace(sizes, sizes.counter_bytes - 1, sizes.scratch_bytes);
  REQUIRE(!counters);
  CHECK(counters.error().message == "the counter buffer has 767 bytes, the launch needs 768");
  CHECK_FALSE(check_workspace(sizes, sizes.counter_bytes, sizes.scratch_bytes - 1));
  CHECK(check_workspace({}, 0, 0));
}

TEST_CASE("counters are reset when all of them are zero") {
  std::vector<std::uint32_t> counters(152);
  CHECK(counters_are_reset(counters));
  counters.back() = 1;
  CHECK_FALSE(counters_are_reset(counters));
}

TEST_CASE("statistics of every row have their tokens rounded up to 256") {
  CHECK(softmax_stats_bytes(test::generation(2, 1, 4096, 16, 8)) == 8 * 16 * 2 * 256);
  CHECK(softmax_stats_bytes(test::context(2, 257, 4096, 16, 8)) == 8 * 16 * 2 * 512);
}

}  // namespace
}  // namespace cubinet
