// SPDX-License-Identifier: Apache-2.0
#include "published/wanted_rows.hpp"

#include "problems.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

Selection select_among(const AttentionProblem& problem, const std::vector<KernelRow>& rows) {
  const auto selection = select(problem, test::kB200, test::index_of(rows), {});
  REQUIRE_MESSAGE(selection, selection.error().message);
  return *selection;
}

Selection select_any(const AttentionProblem& problem) {
  const auto selection = select(problem, test::kB200, test::index_of({}), test::assume_all());
  REQUIRE_MESSAGE(selection, selection.error().message);
  return *selection;
}

TEST_CASE("what rows may say differently is asked for in the order of preference") {
  AttentionProblem problem = test::generation(1, 1, 2048, 16, 8);
  problem.tokens_per_page = 256;
  problem.mask = AttentionMask::causal;
  const WantedRows wanted(problem, {});
  const auto encodings = wanted.encodings();
  REQUIRE(encodings.size() == 8);
  std::size_t number = 0;
  for (const bool groups : {true, false}) {
    for (const bool dynamic : {true, false}) {
      for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::dense}) {
        CAPTURE(number);
        const RowEncoding& encoding = encodings[number++];
        CHECK(encoding.groups_tokens_heads_q == groups);
        CHECK(encoding.dynamic_page == dynamic);
        CHECK(encoding.tokens_per_page == (dynamic ? 128 : 256));
        CHECK(encoding.mask == mask);
      }
    }
  }
}

TEST_CASE("a selector is the state, the encoding and what the problem fixes") {
  AttentionProblem problem = test::context(4, 511, 2047, 8, 2);
  problem.skips_softmax = true;
  const WantedRows wanted(problem, {});
  KernelState state;
  state.shape = {KernelType::context, 64, 128, true};
  state.scheduler = TileScheduler::persistent;
  const KernelSelector selector = wanted.preferred(state);
  CHECK(selector.kernel_type == KernelType::context);
  CHECK(selector.tile_size_q == 64);
  CHECK(selector.tile_size_kv == 128);
  CHECK(selector.head_dim_per_cta_v == 128);
  CHECK(selector.two_cta);
  CHECK(selector.scheduler == TileScheduler::persistent);
  CHECK(selector.head_dim_qk == problem.head_dim_qk);
  CHECK(selector.mask == problem.mask);
  CHECK(selector.skips_softmax);
  CHECK_FALSE(selector.groups_tokens_heads_q);
}

TEST_CASE("pages and masks are normalised before anything is looked up") {
  AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  problem.tokens_per_page = 256;
  problem.window = 1024;
  const Selection selection = select_any(problem);
  CHECK(selection.trace.wanted.dynamic_page);
  CHECK(selection.trace.wanted.tokens_per_page == 128);
  CHECK(selection.trace.wanted.mask == AttentionMask::sliding_or_chunked_causal);
  // Two steps' worth: the window and what a step reaches beyond it.
  CHECK(selection.launch.ctas_kv == 3);
  problem.layout = QkvLayout::contiguous_kv;
  CHECK(select_any(problem).trace.wanted.tokens_per_page == 0);
  problem = test::generation(1, 1, 2048, 128, 128, 576, 512);
  problem.tokens_per_page = 256;
  CHECK_FALSE(select_any(problem).trace.wanted.dynamic_page);
}

TEST_CASE("a kernel of another page size or mask is never taken") {
  AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  const std::vector<KernelRow> rows = test::rows_for(problem);
  problem.tokens_per_page = 32;
  CHECK_FALSE(select_among(problem, rows).found);
  problem.tokens_per_page = 64;
  problem.window = 128;
  CHECK_FALSE(select_among(problem, rows).found);
  problem.window = kUnlimited;
  problem.skips_softmax = true;
  CHECK_FALSE(select_among(problem, rows).found);
  // One row of Q sees the same, dense or causal; several do not.
  problem = test::generation(1, 1, 4096, 32, 4);
  problem.mask = AttentionMask::dense;
  CHECK(select_among(problem, rows).found);
  problem = test::generation(1, 2, 4096, 32, 4);
  const std::vector<KernelRow> causal = test::rows_for(problem);
  CHECK(select_among(problem, causal).found);
  problem.mask = AttentionMask::dense;
  CHECK_FALSE(select_among(problem, causal).found);
}

}  // namespace
}  // namespace cubinet
