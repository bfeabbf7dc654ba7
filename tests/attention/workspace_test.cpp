// SPDX-License-Identifier: Apache-2.0
#include "published/workspace.hpp"

#include "problems.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

Selection selected(const AttentionProblem& problem) {
  return *select(problem, test::kB200, test::index_of({}), test::assume_all());
}

TEST_CASE("a kernel that does not reduce through global memory needs no workspace") {
  CHECK(selected(test::generation(1, 1, 4096, 32, 4)).workspace == WorkspaceSizes{});
  CHECK(selected(test::generation(64, 1, 8192, 64, 8)).workspace == WorkspaceSizes{});
  CHECK(selected(test::context(4, 511, 2047, 8, 2)).workspace == WorkspaceSizes{});
}

TEST_CASE("a reduction in the kernel needs counters, statistics and partial outputs") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  const Selection selection = selected(problem);
  const WorkspaceSizes& sizes = selection.workspace;
  CHECK(sizes.counter_bytes == 768);  // 152 counters, aligned
  // The statistics are sized for all 148 SMs although the grid has 128 blocks, because the kernel
  // places its outputs after them.
  CHECK(sizes.partial_stats_bytes == 148 * 32 * 8);
  CHECK(sizes.partial_output_offset == 148 * 32 * 8);
  CHECK(sizes.partial_output_bytes == 128 * 32 * 128 * 4);
  CHECK(sizes.scratch_bytes == 148 * 32 * 8 + 128 * 32 * 512);
}

TEST_CASE("a separate reduction needs no counters and halves as partial outputs") {
  const AttentionProblem problem = test::generation(8, 1, 4096, 128, 128, 576, 512);
  const WorkspaceSizes sizes = selected(problem).workspace;
  CHECK(sizes.counter_bytes == 0);
  // The outputs are nine splits of the 128 heads and 512 columns of eight sequences.
  CHECK(sizes.partial_output_bytes == std::uint64_t{8} * 9 * 128 * 512 * 2);
  CHECK(sizes.partial_stats_bytes == std::uint64_t{148} * 64 * 8);
}

TEST_CASE("the sum of exponentials needs the statistics of every row, before all else") {
  AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  const WorkspaceSizes without = selected(problem).workspace;
  problem.lse = true;
  const WorkspaceSizes sizes = selected(problem).workspace;
  CHECK(sizes.softmax_stats_bytes == 2 * 256 * 16 * 8 + (1 << 20));
  CHECK(sizes.partial_stats_offset == sizes.softmax_stats_bytes);
  CHECK(sizes.scratch_bytes == without.scratch_bytes + sizes.softmax_stats_bytes);
}

}  // namespace
}  // namespace cubinet
