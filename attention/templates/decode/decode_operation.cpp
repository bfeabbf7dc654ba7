// SPDX-License-Identifier: Apache-2.0
#include "decode_operation.hpp"

#include "decode_alternatives.hpp"
#include "decode_arguments.hpp"
#include "decode_families.hpp"
#include "decode_plan.hpp"

#include <algorithm>

namespace cubinet {
namespace {

WorkDivision division_of(const AttentionProblem& problem, const DecodePlan& decode) {
  const std::uint32_t group = problem.group_size();
  const std::uint32_t rows = group * problem.q_len;
  WorkDivision division;
  division.kv_splits = decode.splits;
  division.kv_mode = !decode.combines()        ? MultiCtasKvMode::disabled
                     : decode.combines_apart() ? MultiCtasKvMode::gmem_separate
                                               : MultiCtasKvMode::gmem;
  division.heads_per_block = std::min(group, decode.tile.q);
  division.tokens_per_block = std::max(1U, decode.tile.q / group);
  // Tokens and heads are packed without gaps: only a tile that holds all rows can have unused rows.
  division.wasted_rows = rows < decode.tile.q ? decode.tile.q - rows : 0;
  return division;
}

class DecodeTemplateFamily final : public TemplateFamily {
 public:
  explicit DecodeTemplateFamily(const DecodeFamily& family) : family_(family) {}

  std::string_view name() const override { return family_.name; }

  std::string gap(const AttentionProblem& problem, ComputeCapability device) const override {
    std::string numerics = numerics_gap(family_, problem);
    return numerics.empty() ? family_.gap(problem, device) : numerics;
  }

  KernelSpec specification(const AttentionProblem& problem) const override {
    return decode_specification(family_, problem);
  }

  std::optional<KernelSpec> kernel_like(const AttentionProblem& problem,
                                        const KernelSpec& other) const override {
    const auto tile = tile_of(other);
    if (!tile) return std::nullopt;
    return decode_specification(family_, problem, *tile);
  }

  std::optional<KernelSpec> kernel_like(const AttentionProblem& problem,
                                        const KernelRow& other) const override {
    const DecodeTile tile{other.selector.tile_size_q, other.selector.tile_size_kv, other.traits.stages};
    if (tile.q == 0 || tile.kv == 0 || tile.stages == 0) return std::nullopt;
    return decode_specification(family_, problem, tile);
  }

  bool is_compared(const AttentionProblem& problem) const override {
    return family_.is_compared != nullptr && family_.is_compared(problem);
  }

  Result<FamilyPlan> plan(const PlanRequest& request, const FamilyKernels& kernels) const override {
    std::optional<std::vector<DecodeTile>> tiles;
    if (kernels.of_family) {
      tiles.emplace();
      for (const KernelSpec& kernel : *kernels.of_family) {
        if (const auto tile = tile_of(kernel)) tiles->push_back(*tile);
      }
    }
    CUBINET_TRY_ASSIGN(const DecodePlan decode, plan_decode(request, family_, tiles, kernels.may_use));
    FamilyPlan plan;
    plan.steps.push_back(
        {decode.spec, decode.grid, request.options.starts_early, decode.blocks_per_multiprocessor});
    if (decode.combines_apart()) plan.steps.push_back({decode.combine, decode.combine_grid, true});
    plan.arguments =
        std::make_shared<const DecodeArguments>(decode.parameters, decode.workspace, request.problem);
    plan.workspace = decode.workspace;
    plan.rules.reads_offsets = request.problem.ragged_q;
    plan.division = division_of(request.problem, decode);
    plan.cost = decode.cost;
    plan.compared_time = decode.compared_time;
    return plan;
  }

  std::vector<FamilyAlternative> alternatives(const PlanRequest& request,
                                              const KernelTemplate& kernel_template) const override {
    return decode_alternatives(request, family_, kernel_template);
  }

 private:
  const DecodeFamily& family_;
};

class DecodeOperation final : public OperationClass {
 public:
  std::string gap(const AttentionProblem& problem, ComputeCapability device) const override {
    return decode_gap(problem, device);
  }

  // For splits of a fixed length the order does not depend on the batch, so the same family serves
  // every batch.
  std::vector<std::shared_ptr<const TemplateFamily>> families(const PlanRequest& request) const override {
    AttentionProblem problem = request.problem;
    if (request.options.split_tokens) problem.batch = 1;
    std::vector<std::shared_ptr<const TemplateFamily>> families;
    for (const DecodeFamily* family : decode_families(problem, request.device.capability))
      families.push_back(std::make_shared<const DecodeTemplateFamily>(*family));
    return families;
  }
};

}  // namespace

std::shared_ptr<const OperationClass> decode_operation() {
  return std::make_shared<const DecodeOperation>();
}

}  // namespace cubinet
