// SPDX-License-Identifier: Apache-2.0
#include "published/selection.hpp"

#include "problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace cubinet {
namespace {

using Grid = std::array<std::uint32_t, 3>;
constexpr KernelType kSwaps = KernelType::swaps_mma_ab;
constexpr KernelType kKeeps = KernelType::keeps_mma_ab;
constexpr MultiCtasKvMode kOff = MultiCtasKvMode::disabled;
constexpr MultiCtasKvMode kGmem = MultiCtasKvMode::gmem;
constexpr MultiCtasKvMode kSeparate = MultiCtasKvMode::gmem_separate;
constexpr MultiCtasKvMode kCga = MultiCtasKvMode::cga;
constexpr TileScheduler kStatic = TileScheduler::static_grid;
constexpr TileScheduler kPersistent = TileScheduler::persistent;

Selection must_select(const AttentionProblem& problem, const KernelIndex& index,
                      const SelectionPolicy& policy = {}, const DeviceFacts& device = test::kB200) {
  const auto selection = select(problem, device, index, policy);
  REQUIRE_MESSAGE(selection, selection.error().message);
  return *selection;
}

Selection assumed(const AttentionProblem& problem) {
  return must_select(problem, test::index_of({}), test::assume_all());
}

struct Probe {
  std::uint16_t tile;
  std::uint32_t splits;
  std::uint64_t ctas;
  double time;
};

struct Expected {
  KernelType type;
  std::uint16_t tile;
  bool two_cta;
  MultiCtasKvMode mode;
  TileScheduler scheduler;
  std::uint16_t head_dim_per_cta;
};
constexpr Expected kSwaps8Cga{kSwaps, 8, false, kCga, kStatic, 128};
constexpr Expected kSwaps8Whole{kSwaps, 8, false, kOff, kPersistent, 128};
constexpr Expected kSwaps32Gmem{kSwaps, 32, false, kGmem, kStatic, 128};
constexpr Expected kKeeps64Gmem{kKeeps, 64, false, kGmem, kStatic, 128};
constexpr Expected kPairSeparate{kKeeps, 64, true, kSeparate, kStatic, 256};
constexpr Expected kPairWhole{kKeeps, 64, true, kOff, kPersistent, 256};

struct Example {
  AttentionProblem problem;
  Expected kernel;
  std::uint32_t splits;
  Grid grid;
  std::uint32_t cluster;
  std::uint8_t passes;
  std::vector<Probe> probes;
};

const std::vector<Probe> kProbes7 = {
    {64, 4, 8, 1474.6}, {32, 4, 16, 1310.7}, {16, 4, 32, 1141.8}, {8, 4, 64, 1024.0}};
const std::vector<Probe> kProbes8 = {
    {64, 2, 8, 1167.4}, {32, 2, 16, 1034.2}, {16, 2, 32, 878.1}, {8, 2, 64, 768.0}};
const std::vector<Probe> kProbes9 = {{16, 8, 64, 1669.1}, {8, 6, 144, 1536.0}};

// The nine worked examples that are published with the rules: 148 SMs, every kernel assumed to
// exist.
std::vector<Example> worked_examples() {
  using test::generation;
  return {
      {generation(1, 1, 4096, 32, 4), kSwaps8Cga, 8, {8, 8, 1}, 8, 2, {}},
      {generation(64, 1, 8192, 64, 8), kSwaps8Whole, 1, {1, 8, 64}, 1, 2, {}},
      {generation(2, 4, 16384, 16, 8), kSwaps32Gmem, 32, {32, 2, 2}, 1, 1, {}},
      {generation(32, 8, 16384, 16, 8), kKeeps64Gmem, 2, {2, 2, 32}, 1, 1, {}},
      {generation(8, 1, 4096, 128, 128, 576, 512), kPairSeparate, 9, {18, 1, 8}, 2, 1, {}},
      {generation(256, 1, 4096, 128, 128, 576, 512), kPairWhole, 1, {2, 1, 256}, 2, 2, {}},
      {generation(1, 8, 2048, 16, 8), kSwaps8Cga, 4, {32, 2, 1}, 4, 2, kProbes7},
      {generation(2, 8, 1024, 16, 8), kSwaps8Cga, 2, {16, 2, 2}, 2, 2, kProbes8},
      {generation(4, 3, 4096, 10, 5), kSwaps8Cga, 6, {18, 2, 4}, 6, 2, kProbes9},
  };
}

void check_example(const Example& example, const Selection& selection) {
  CHECK(selection.found);
  const KernelSelector& s = selection.kernel.selector;
  CHECK(s.kernel_type == example.kernel.type);
  CHECK(s.tile_size_q == example.kernel.tile);
  CHECK(s.two_cta == example.kernel.two_cta);
  CHECK(s.multi_ctas_kv_mode == example.kernel.mode);
  CHECK(s.scheduler == example.kernel.scheduler);
  CHECK(s.head_dim_per_cta_v == example.kernel.head_dim_per_cta);
  CHECK(selection.launch.ctas_kv == example.splits);
  CHECK(selection.launch.grid == example.grid);
  CHECK(selection.launch.cluster_x == example.cluster);
  CHECK(selection.trace.pass_count == example.passes);
  REQUIRE(selection.trace.candidate_count == example.probes.size());
  for (std::size_t i = 0; i < example.probes.size(); ++i) {
    const TraceCandidate& candidate = selection.trace.candidates[i];
    CHECK(candidate.exists);
    CHECK(candidate.tile_size_q == example.probes[i].tile);
    CHECK(candidate.kv_splits == example.probes[i].splits);
    CHECK(candidate.ctas == example.probes[i].ctas);
    CHECK(std::abs(candidate.time - example.probes[i].time) <= 0.0501);
  }
}

TEST_CASE("the published worked examples come out, probe times included") {
  for (const Example& example : worked_examples()) {
    CAPTURE(example.problem.batch);
    CAPTURE(example.problem.kv_len);
    check_example(example, assumed(example.problem));
  }
}

TEST_CASE("a table that holds the rows gives what the assumed table gives") {
  for (const Example& example : worked_examples()) {
    const KernelIndex index = test::index_of(test::rows_for(example.problem));
    const Selection selection = must_select(example.problem, index);
    check_example(example, selection);
    REQUIRE(selection.row != nullptr);
    CHECK(selection.row->selector == selection.kernel.selector);
    CHECK_FALSE(selection.trace.default_missing);
  }
}

TEST_CASE("a missing default tile is skipped and the fastest existing tile taken") {
  const AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  std::vector<KernelRow> rows = test::rows_for(problem);
  const auto without = [&](std::initializer_list<int> tiles) {
    std::vector<KernelRow> left;
    for (const KernelRow& row : rows) {
      if (std::find(tiles.begin(), tiles.end(), row.selector.tile_size_q) == tiles.end()) left.push_back(row);
    }
    return must_select(problem, test::index_of(left));
  };
  const Selection no_64 = without({64});
  CHECK(no_64.kernel.selector.tile_size_q == 8);
  CHECK(no_64.trace.default_missing);
  CHECK_FALSE(no_64.trace.candidates[0].exists);
  CHECK(without({8}).kernel.selector.tile_size_q == 16);
  CHECK(without({64, 8}).kernel.selector.tile_size_q == 16);
  CHECK(without({64, 16, 8}).kernel.selector.tile_size_q == 32);
  CHECK_FALSE(without({64, 32, 16, 8}).found);
}

TEST_CASE("a larger tile stands in for a missing one before a smaller does") {
  const AttentionProblem problem = test::generation(64, 1, 8192, 64, 16);
  KernelFacts facts = assumed(problem).kernel;
  REQUIRE(facts.selector.tile_size_q == 16);
  std::vector<KernelRow> rows;
  for (const std::uint16_t tile : {std::uint16_t{8}, std::uint16_t{32}}) {
    facts.selector.tile_size_q = tile;
    facts.traits.step_q = tile;
    rows.push_back(test::row_of(facts));
  }
  CHECK(must_select(problem, test::index_of(rows)).kernel.selector.tile_size_q == 32);
  rows.pop_back();
  const Selection smaller = must_select(problem, test::index_of(rows));
  CHECK(smaller.kernel.selector.tile_size_q == 8);
  // Two tiles for the sixteen heads of each KV head.
  CHECK(smaller.launch.head_ctas == 8);
}

TEST_CASE("a refinement without a row is passed over and the unrefined row stays") {
  const AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  std::vector<KernelRow> rows = test::rows_for(problem);
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [](const KernelRow& row) { return row.selector.multi_ctas_kv_mode == kCga; }),
             rows.end());
  const Selection selection = must_select(problem, test::index_of(rows));
  CHECK(selection.kernel.selector.multi_ctas_kv_mode == kGmem);
  CHECK(selection.trace.missing_refinements == 1U << static_cast<unsigned>(Refinement::cga));
  CHECK(selection.trace.pass_count == 1);
}

TEST_CASE("every mode alone serves a decode when it is the only one in the table") {
  const AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  for (const MultiCtasKvMode mode : {kOff, kGmem, kCga}) {
    for (const TileScheduler scheduler : {kStatic, kPersistent}) {
      KernelFacts facts = assumed(problem).kernel;
      facts.selector.multi_ctas_kv_mode = mode;
      facts.selector.scheduler = scheduler;
      const Selection selection = must_select(problem, test::index_of({test::row_of(facts)}));
      CHECK(selection.found == (mode == kOff || scheduler == kStatic));
    }
  }
}

TEST_CASE("a group larger than the tile takes several CTAs and one token a tile") {
  const Selection selection = assumed(test::generation(4, 3, 4096, 256, 256));
  CHECK(selection.kernel.selector.tile_size_q == 128);
  CHECK(selection.launch.heads_per_cta == 128);
  CHECK(selection.launch.head_ctas == 2);
  CHECK(selection.launch.tokens_per_cta_q == 1);
  CHECK(selection.launch.ctas_q == 3);
}

TEST_CASE("mixed precision swaps with a tile of eight or sixteen and compares nothing") {
  AttentionProblem problem = test::generation(1, 4, 2048, 64, 8);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  Selection selection = assumed(problem);
  CHECK(selection.kernel.selector.tile_size_q == 8);
  CHECK(selection.kernel.selector.kernel_type == kSwaps);
  CHECK_FALSE(selection.kernel.selector.groups_tokens_heads_q);
  CHECK(selection.launch.ctas_q == 4);
  CHECK(selection.trace.candidate_count == 0);
  problem = test::generation(1, 4, 2048, 64, 16);
  problem.data_type_o = DataType::e2m1;
  selection = assumed(problem);
  CHECK(selection.kernel.selector.tile_size_q == 16);
}

TEST_CASE("MLA swaps while its CTAs are few and their KV short, and keeps otherwise") {
  const auto shape = [](std::uint32_t batch, std::uint32_t kv_len, std::uint32_t group) {
    return assumed(test::generation(batch, 1, kv_len, group, group, 576, 512)).kernel.selector;
  };
  CHECK(shape(1, 4096, 128).kernel_type == kSwaps);
  CHECK(shape(1, 32768, 128).kernel_type == kKeeps);
  CHECK(shape(8, 4096, 128).kernel_type == kKeeps);
  CHECK(shape(512, 8192, 32).kernel_type == kSwaps);
  CHECK(shape(512, 8192, 8).tile_size_q == 8);
  CHECK(shape(512, 8192, 16).tile_size_q == 16);
  CHECK(shape(512, 8192, 64).kernel_type == kKeeps);
  CHECK_FALSE(shape(512, 8192, 64).two_cta);
  CHECK(shape(512, 8192, 128).two_cta);
}

TEST_CASE("MLA divides the columns of V while the device is not full") {
  const Selection least = assumed(test::generation(1, 1, 4096, 16, 16, 576, 512));
  CHECK(least.kernel.selector.head_dim_per_cta_v == 128);
  CHECK(least.kernel.selector.multi_ctas_kv_mode == kGmem);
  CHECK(least.trace.pass_count == 2);
  const Selection some = assumed(test::generation(4, 1, 4096, 16, 16, 576, 512));
  CHECK(some.kernel.selector.head_dim_per_cta_v == 128);
  CHECK(some.kernel.selector.multi_ctas_kv_mode == kCga);
  CHECK(some.trace.pass_count == 3);
  const Selection full = assumed(test::generation(148, 1, 4096, 16, 16, 576, 512));
  CHECK(full.kernel.selector.head_dim_per_cta_v == 512);
}

TEST_CASE("sparse attention asks for page one and reaches top k tokens") {
  AttentionProblem problem = test::generation(1, 1, 65536, 128, 128, 576, 512);
  problem.sparse = SparseAttention::static_token;
  problem.top_k = 2048;
  const Selection selection = assumed(problem);
  CHECK(selection.kernel.selector.tokens_per_page == 1);
  CHECK(selection.kernel.selector.sparse == SparseAttention::static_token);
  CHECK(selection.launch.ctas_kv <= 8);
}

TEST_CASE("prefill is persistent with tiles of 128, and static where that is all there is") {
  const AttentionProblem problem = test::context(4, 511, 2047, 8, 2);
  const Selection selection = assumed(problem);
  CHECK(selection.kernel.selector.kernel_type == KernelType::context);
  CHECK(selection.kernel.selector.scheduler == kPersistent);
  CHECK(selection.kernel.selector.multi_ctas_kv_mode == kOff);
  CHECK(selection.launch.grid == Grid{2, 8, 4});
  CHECK(selection.trace.pass_count == 1);
  KernelFacts facts = selection.kernel;
  facts.selector.scheduler = kStatic;
  CHECK(must_select(problem, test::index_of({test::row_of(facts)})).found);
}

TEST_CASE("clusters that do not fit at once fall back to global memory, once") {
  const AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  const KernelIndex index = test::index_of(test::rows_for(problem));
  SelectionPolicy policy;
  int asked = 0;
  policy.maximum_active_clusters = [&](const KernelRow& row, std::uint32_t cluster) {
    ++asked;
    CHECK(row.selector.multi_ctas_kv_mode == kCga);
    CHECK(cluster == 8);
    return 7U;
  };
  const Selection selection = must_select(problem, index, policy);
  CHECK(selection.kernel.selector.multi_ctas_kv_mode == kGmem);
  CHECK(selection.trace.pass_count == 3);
  CHECK(asked == 1);
  policy.maximum_active_clusters = [](const KernelRow&, std::uint32_t) { return 8U; };
  CHECK(must_select(problem, index, policy).kernel.selector.multi_ctas_kv_mode == kCga);
  // Without a row to fall back to, several waves of clusters are slower; none at all cannot be
  // launched.
  std::vector<KernelRow> only_cga = test::rows_for(problem);
  only_cga.erase(std::remove_if(only_cga.begin(), only_cga.end(),
                                [](const KernelRow& row) { return row.selector.multi_ctas_kv_mode != kCga; }),
                 only_cga.end());
  policy.maximum_active_clusters = [](const KernelRow&, std::uint32_t) { return 1U; };
  CHECK(must_select(problem, test::index_of(only_cga), policy).found);
  policy.maximum_active_clusters = [](const KernelRow&, std::uint32_t) { return 0U; };
  CHECK_FALSE(must_select(problem, test::index_of(only_cga), policy).found);
}

TEST_CASE("the policy forbids, pins and prefers targets") {
  const AttentionProblem problem = test::generation(64, 1, 8192, 64, 8);
  std::vector<KernelRow> rows;
  for (const KernelRow& row : test::rows_for(problem)) {
    for (const SmTarget target : {SmTarget{10, 0, TargetKind::family}, SmTarget{10, 0, TargetKind::specific},
                                  SmTarget{10, 0, TargetKind::baseline}}) {
      rows.push_back(row);
      rows.back().target = target;
    }
  }
  const KernelIndex index = test::index_of(rows);
  const auto target = [&](const SelectionPolicy& policy) {
    return must_select(problem, index, policy).row->target.kind;
  };
  CHECK(target({}) == TargetKind::specific);
  SelectionPolicy policy;
  policy.targets.prefers_family = true;
  CHECK(target(policy) == TargetKind::family);
  policy = {};
  policy.targets.forbidden = {{10, 0, TargetKind::specific}};
  CHECK(target(policy) == TargetKind::family);
  policy = {};
  policy.targets.pinned = SmTarget{10, 0, TargetKind::baseline};
  CHECK(target(policy) == TargetKind::baseline);
  policy.targets.forbidden = {{10, 0, TargetKind::baseline}};
  const Selection none = must_select(problem, index, policy);
  CHECK_FALSE(none.found);
  CHECK(none.trace.refused_targets > 0);
}

TEST_CASE("a row that needs more shared memory than the device has is not taken, and counted") {
  const AttentionProblem problem = test::generation(64, 1, 8192, 64, 8);
  const KernelIndex index = test::index_of(test::rows_for(problem));
  DeviceFacts device = test::kB200;
  device.maximum_shared_bytes = 99'999;
  const Selection selection = must_select(problem, index, {}, device);
  CHECK_FALSE(selection.found);
  CHECK(selection.trace.over_shared_limit > 0);
  device.maximum_shared_bytes = 100'000;
  CHECK(must_select(problem, index, {}, device).found);
}

TEST_CASE("without splits a decode takes one CTA a sequence") {
  SelectionPolicy policy = test::assume_all();
  policy.splits_kv = false;
  const Selection selection = must_select(test::generation(1, 1, 4096, 32, 4), test::index_of({}), policy);
  CHECK(selection.kernel.selector.multi_ctas_kv_mode == kOff);
  CHECK(selection.kernel.selector.scheduler == kStatic);
  CHECK(selection.launch.ctas_kv == 1);
  CHECK(selection.trace.pass_count == 1);
}

TEST_CASE("half KV tiles are tried where the policy says so and the device is not full") {
  SelectionPolicy policy = test::assume_all();
  policy.tries_tile_size_kv64 = true;
  const Selection selection =
      must_select(test::generation(1, 1, 4096, 16, 16, 576, 512), test::index_of({}), policy);
  CHECK(selection.kernel.selector.tile_size_kv == 64);
  CHECK(assumed(test::generation(1, 1, 4096, 16, 16, 576, 512)).kernel.selector.tile_size_kv == 128);
}

TEST_CASE("another cost model changes what is found") {
  struct DearSmallTiles final : CostModel {
    KernelCost cost(const KernelWork& work) const override {
      return {work.tile_size_q == 8 ? 2.0 : 1.0, false};
    }
  };
  SelectionPolicy policy = test::assume_all();
  const DearSmallTiles costs;
  policy.costs = &costs;
  const AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  CHECK(assumed(problem).kernel.selector.tile_size_q == 8);
  CHECK(must_select(problem, test::index_of({}), policy).kernel.selector.tile_size_q == 64);
}

TEST_CASE("a device that counts as busy sooner is not asked about other tiles") {
  SelectionPolicy policy = test::assume_all();
  const AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  policy.busy_share = 100;
  const Selection selection = must_select(problem, test::index_of({}), policy);
  CHECK(selection.trace.model_skipped);
  CHECK(selection.trace.candidate_count == 0);
}

TEST_CASE("a problem that makes no sense is an error, not a miss") {
  AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  problem.head_dim_qk = 129;
  const auto selection = select(problem, test::kB200, test::index_of({}), {});
  REQUIRE(!selection);
  CHECK(selection.error().code == ErrorCode::invalid_argument);
  CHECK_FALSE(select(test::generation(1, 1, 4096, 32, 4), {{10, 0}, 0, 0}, test::index_of({}), {}));
}

SelectionPolicy by_rules(const char* version) {
  SelectionPolicy policy = test::assume_all();
  const SelectionRules* rules = find_rules(version);
  REQUIRE(rules != nullptr);
  policy.rules = *rules;
  return policy;
}

TEST_CASE("from version 14 on a second launch combines the splits of wide kernels that keep") {
  const AttentionProblem problem = test::generation(1, 1, 65536, 64, 64, 512, 512);
  const Selection later = must_select(problem, test::index_of({}), by_rules("0.6.14"));
  CHECK(later.kernel.selector.multi_ctas_kv_mode == kSeparate);
  CHECK(later.kernel.selector.head_dim_per_cta_v == 256);
  REQUIRE(later.launch.reduction);
  CHECK(later.launch.reduction->head_dim == 256);
  CHECK(must_select(problem, test::index_of({}), by_rules("0.6.13")).kernel.selector.multi_ctas_kv_mode ==
        kGmem);
}

TEST_CASE("from version 16 on a row leaves 1024 bytes of shared memory free") {
  const AttentionProblem problem = test::generation(1, 1, 256, 8, 8);
  KernelRow row = test::row_of(assumed(problem).kernel);
  const auto found = [&](std::uint32_t bytes, const char* version) {
    SelectionPolicy policy = by_rules(version);
    policy.assumes_all_kernels = false;
    row.shared_bytes = bytes;
    return must_select(problem, test::index_of({row}), policy).found;
  };
  const std::uint32_t limit = test::kB200.shared_limit();
  CHECK(found(limit, "0.6.15"));
  CHECK_FALSE(found(limit + 1, "0.6.15"));
  CHECK(found(limit - 1024, "0.6.16"));
  CHECK_FALSE(found(limit - 1023, "0.6.16"));
}

TEST_CASE("from version 70 on a cluster combines the splits of a single latent sequence") {
  AttentionProblem problem = test::generation(1, 1, 2048, 16, 16, 576, 512);
  problem.tokens_per_page = 32;
  const auto mode = [&](const char* version) {
    const Selection selection = must_select(problem, test::index_of({}), by_rules(version));
    CHECK(selection.kernel.selector.head_dim_per_cta_v == 128);
    return selection.kernel.selector.multi_ctas_kv_mode;
  };
  CHECK(mode("0.6.18") == kGmem);
  CHECK(mode("0.7.0") == kCga);
  problem.tokens_per_page = 64;
  CHECK(mode("0.7.0") == kGmem);
  problem.tokens_per_page = 32;
  problem.q_len = 2;
  problem.data_type_o = DataType::fp16;  // its query tokens do not share a tile
  CHECK(mode("0.7.0") == kGmem);
}

TEST_CASE("from the first repair of version 72 on more than 16 splits become a cluster of 16") {
  const auto splits = [](const AttentionProblem& problem, const char* version) {
    const Selection selection = must_select(problem, test::index_of({}), by_rules(version));
    CHECK((selection.kernel.selector.multi_ctas_kv_mode == kCga) == (selection.launch.ctas_kv == 16));
    return selection.launch.ctas_kv;
  };
  CHECK(splits(test::generation(1, 1, 65536, 8, 8), "0.7.2") == 128);
  CHECK(splits(test::generation(1, 1, 65536, 8, 8), "0.7.2.post1") == 16);
  // More than 4096 tokens for each CTA.
  CHECK(splits(test::generation(1, 1, 65537, 8, 8), "0.7.2.post1") > 16);
  CHECK(splits(test::generation(1, 1, 65536, 8, 8, 256, 256), "0.7.2.post1") == 16);
  CHECK(splits(test::generation(1, 2, 65536, 4, 4, 256, 256), "0.7.2.post1") > 16);
  CHECK(splits(test::generation(1, 1, 65536, 8, 8, 512, 512), "0.7.2.post1") > 16);
}

TEST_CASE("splits stay where the table has no kernel that combines them in a cluster") {
  const AttentionProblem problem = test::generation(1, 1, 65536, 8, 8);
  SelectionPolicy policy = by_rules("0.7.2");
  const Selection wide = must_select(problem, test::index_of({}), policy);
  policy = by_rules("0.7.2.post1");
  policy.assumes_all_kernels = false;
  const Selection selection = must_select(problem, test::index_of({test::row_of(wide.kernel)}), policy);
  REQUIRE(selection.found);
  CHECK(selection.launch.ctas_kv == 128);
  CHECK(selection.kernel.selector.multi_ctas_kv_mode == kGmem);
}

}  // namespace
}  // namespace cubinet
