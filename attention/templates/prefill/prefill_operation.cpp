// SPDX-License-Identifier: Apache-2.0
#include "prefill_operation.hpp"

#include "attention_prefill_wgmma_family.hpp"
#include "prefill_arguments.hpp"
#include "prefill_families.hpp"
#include "prefill_plan.hpp"
#include "prefill_splits.hpp"
#include "rounding.hpp"
#include "templates/decode/attention_decode_wgmma_family.hpp"
#include "templates/decode/decode_plan.hpp"

#include <algorithm>
#include <numeric>

namespace cubinet {
namespace {

// Returns the numbers of splits that the tuner times besides the chosen one.
std::vector<std::uint32_t> prefill_splits_around(const PlanRequest& request, const PrefillFamily& family,
                                                 const PrefillPlan& chosen) {
  if (!prefill_splits_kv(family, request.problem) || request.options.splits || request.options.split_tokens)
    return {};
  const std::uint32_t count = chosen.splits.count;
  std::vector<std::uint32_t> around;
  for (const std::uint32_t splits : {1U, count - 1, count + 1, count * 3 / 2, count * 2}) {
    const bool is_new = splits != count && std::find(around.begin(), around.end(), splits) == around.end();
    if (is_new && splits >= 1 && splits <= kMaximumPrefillSplits) around.push_back(splits);
  }
  return around;
}

class PrefillTemplateFamily final : public TemplateFamily {
 public:
  explicit PrefillTemplateFamily(const PrefillFamily& family) : family_(family) {}

  std::string_view name() const override { return family_.name; }

  std::string gap(const AttentionProblem& problem, ComputeCapability device) const override {
    std::string numerics = numerics_gap(family_, problem);
    return numerics.empty() ? family_.gap(problem, device) : numerics;
  }

  KernelSpec specification(const AttentionProblem& problem) const override {
    return prefill_specification(family_, problem);
  }

  std::optional<KernelSpec> kernel_like(const AttentionProblem& problem,
                                        const KernelSpec& other) const override {
    const auto tile = prefill_tile_of(other);
    if (!tile) return std::nullopt;
    return prefill_specification(family_, problem, *tile);
  }

  std::optional<KernelSpec> kernel_like(const AttentionProblem& problem,
                                        const KernelRow& other) const override {
    PrefillTile tile{other.selector.tile_size_q, other.selector.tile_size_kv, other.traits.stages};
    if (tile.q == 0 || tile.kv == 0 || tile.stages == 0) return std::nullopt;
    // The row of a kernel with folds has the tokens between two folds as its step.
    if (other.traits.step_kv > tile.kv) tile.fold_steps = other.traits.step_kv / tile.kv;
    // That of a kernel with clusters has the rows of all CTAs of one as its step.
    if (family_.has_clusters && other.traits.step_q > tile.q) tile.cluster = other.traits.step_q / tile.q;
    return prefill_specification(family_, problem, tile);
  }

  bool is_compared(const AttentionProblem&) const override { return false; }

  Result<FamilyPlan> plan(const PlanRequest& request, const FamilyKernels& kernels) const override {
    const AttentionProblem& problem = request.problem;
    std::optional<std::vector<PrefillTile>> tiles;
    if (kernels.of_family) {
      tiles.emplace();
      for (const KernelSpec& kernel : *kernels.of_family) {
        const auto tile = prefill_tile_of(kernel);
        if (tile && (request.options.kernel || folds_as_planned(family_, problem, *tile)))
          tiles->push_back(*tile);
      }
    }
    CUBINET_TRY_ASSIGN(const PrefillPlan prefill, plan_prefill(request, family_, tiles, kernels.may_use));
    FamilyPlan plan;
    plan.steps.push_back({prefill.spec,
                          {prefill.blocks, 1, 1},
                          request.options.starts_early,
                          prefill.blocks_per_multiprocessor});
    if (prefill.is_split())
      plan.steps.push_back({prefill_combine_specification(problem), prefill_combine_grid(problem), true});
    plan.arguments = std::make_shared<const PrefillArguments>(prefill.parameters, family_, prefill.tile,
                                                              prefill.block, prefill.workspace, problem);
    plan.workspace = prefill.workspace;
    plan.rules.reads_offsets = problem.ragged_q;
    plan.rules.reads_kv_offsets = problem.layout == QkvLayout::separate_qkv;
    const std::uint32_t heads = prefill.block.tile_heads;
    const std::uint32_t rows = heads * problem.q_len;
    plan.division.heads_per_block = std::min(heads, prefill.tile.q);
    plan.division.tokens_per_block = std::max(1U, prefill.tile.q / heads);
    plan.division.wasted_rows = rows < prefill.tile.q ? prefill.tile.q - rows : 0;
    if (prefill.is_split()) {
      plan.division.kv_splits = prefill.splits.count;
      plan.division.kv_mode = MultiCtasKvMode::gmem_separate;
    }
    plan.cost = prefill.cost;
    return plan;
  }

  std::vector<FamilyAlternative> alternatives(const PlanRequest& request,
                                              const KernelTemplate& kernel_template) const override {
    std::vector<FamilyAlternative> alternatives;
    std::vector<PrefillTile> tiles = family_.tiles(request.problem);
    if (family_.tiles_of_other_error != nullptr) {
      const std::vector<PrefillTile> others = family_.tiles_of_other_error(request.problem);
      tiles.insert(tiles.end(), others.begin(), others.end());
    }
    for (const PrefillTile& tile : tiles) {
      const auto kernel = kernel_template.resolve(prefill_specification(family_, request.problem, tile));
      if (!kernel) continue;
      const auto chosen = plan_prefill(request, family_, std::vector{tile});
      if (!chosen) continue;
      PlanOptions options = request.options;
      options.kernel = chosen->spec;
      alternatives.push_back({options, chosen->cost.time});
      for (const std::uint32_t splits : prefill_splits_around(request, family_, *chosen)) {
        PlanRequest tried = request;
        tried.options.splits = splits;
        const auto planned = plan_prefill(tried, family_, std::vector{tile});
        if (!planned || planned->splits == chosen->splits) continue;
        options.splits = splits;
        alternatives.push_back({options, planned->cost.time});
      }
    }
    return alternatives;
  }

 private:
  const PrefillFamily& family_;
};

constexpr std::uint64_t kRowsOfWarpgroup = 64;  // of attention_decode_wgmma's tile, too

// Returns whether the tiles of prompts on Hopper also serve generation that decode attention
// serves: with so many rows that decode attention would have tiles of 64 rows.
bool serves_generation(const AttentionProblem& problem, ComputeCapability device) {
  if (!problem.is_generation() || rows_of_kv_head(problem) <= kRowsOfWarpgroup / 2 || problem.is_invariant())
    return false;
  if (!decode_gap(problem, device).empty() || !decode_has_sizes(problem)) return false;
  if (!prefill_expression_gap(problem, device).empty()) return false;
  // Weights of e4m3 would be rounded with many rows alone. Its time has not been measured.
  return kAttentionPrefillWgmma.gap(problem, device).empty() && problem.data_type_q != DataType::e4m3;
}

// Returns whether such generation of more than 64 rows, whose KV decode attention would read more
// than once, is faster with tiles of prompts: they have 128 rows, but their splits of KV cost more.
// The limits are measured: docs/kernels/attention_prefill_wgmma.md#generation.
bool is_wide_generation(const AttentionProblem& problem) {
  constexpr std::uint64_t kRowsOfTile = 128;
  constexpr std::uint64_t kLeastTiles = 32;
  constexpr std::uint64_t kLeastTokens = 40000;  // that the rows of all sequences and KV heads see
  if (rows_of_kv_head(problem) <= kRowsOfWarpgroup) return false;
  const std::uint64_t caches = std::uint64_t{problem.batch} * problem.heads_kv;
  if (caches * divide_up(rows_of_kv_head(problem), kRowsOfTile) >= kLeastTiles) return true;
  const std::uint64_t most = most_tokens_of_sequence(problem);
  std::uint64_t tokens = problem.batch * most;
  if (!problem.kv_lengths.empty()) {
    tokens = std::accumulate(problem.kv_lengths.begin(), problem.kv_lengths.end(), std::uint64_t{0},
                             [&](std::uint64_t sum, std::int32_t length) {
                               return sum + std::min<std::uint64_t>(static_cast<std::uint32_t>(length), most);
                             });
  }
  return tokens * problem.heads_kv >= kLeastTokens;
}

// Returns whether such generation of 33 to 64 rows has so many tiles that tiles of prompts may be
// faster than those of attention_decode_wgmma: they follow each other sooner, although a warpgroup
// of each has no rows. With few tiles the splits of decode attention are faster.
bool has_many_half_tiles(const PlanRequest& request) {
  const AttentionProblem& problem = request.problem;
  return rows_of_kv_head(problem) <= kRowsOfWarpgroup &&
         std::uint64_t{problem.batch} * problem.heads_kv >= request.device.sm_count;
}

// Returns whether the cost model estimates that such tiles are clearly faster. Both models are
// rough for short tiles, and no such problem has been measured.
bool are_half_tiles_faster(const PlanRequest& request) {
  constexpr double kClearly = 0.8;
  if (!has_many_half_tiles(request)) return false;
  const auto of_prompts = plan_prefill(request, kAttentionPrefillWgmma);
  const auto of_decode = plan_decode(request, kAttentionDecodeWgmma);
  return of_prompts && of_decode && of_prompts->cost.time < kClearly * of_decode->cost.time;
}

class PrefillOperation final : public OperationClass {
 public:
  std::string gap(const AttentionProblem& problem, ComputeCapability device) const override {
    return serves_generation(problem, device) ? "" : prefill_gap(problem, device);
  }

  // Splits of a fixed length are those of decode attention, whatever the number of rows.
  bool precedes(const PlanRequest& request) const override {
    if (request.options.split_tokens || !serves_generation(request.problem, request.device.capability))
      return false;
    return is_wide_generation(request.problem) || are_half_tiles_faster(request);
  }

  std::vector<std::shared_ptr<const TemplateFamily>> families(const PlanRequest& request) const override {
    const auto of = [](const PrefillFamily& family) {
      return std::make_shared<const PrefillTemplateFamily>(family);
    };
    std::vector<std::shared_ptr<const TemplateFamily>> families;
    if (serves_generation(request.problem, request.device.capability)) {
      // Kernels that were built for the bounds of a batch also serve its known lengths, which may
      // be too little work for these tiles.
      if (!request.options.may_compile || has_many_half_tiles(request) || precedes(request))
        families.push_back(of(kAttentionPrefillWgmma));
      return families;
    }
    for (const PrefillFamily* family : prefill_families(request.problem, request.device.capability))
      families.push_back(of(*family));
    return families;
  }
};

}  // namespace

std::shared_ptr<const OperationClass> prefill_operation() {
  return std::make_shared<const PrefillOperation>();
}

}  // namespace cubinet
