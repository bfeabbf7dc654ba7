// SPDX-License-Identifier: Apache-2.0
#include "template_backend.hpp"

#include "decode_arguments.hpp"
#include "decode_plan.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kMain = 0;
constexpr std::size_t kReduction = 1;
// Rows of Q for one KV head beyond which each tile's own pass over KV is prefill: 16 tiles of 64.
constexpr std::uint64_t kMaximumRows = 1024;
constexpr ComputeCapability kFirstWithConversions{8, 9};  // to types of eight bits

BackendDecline template_decline(std::string reason) {
  return {std::string(kTemplatesBackend), std::move(reason), {}, {}};
}

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

// What attention_decode has no parameter or argument for; empty where it has all.
std::string missing_feature(const AttentionProblem& problem) {
  if (!problem.is_generation()) return "attention_decode is for generation, and the problem is prefill";
  const std::uint64_t rows = std::uint64_t{problem.group_size()} * problem.q_len;
  if (rows > kMaximumRows) {
    return "a group of " + number(problem.group_size()) + " times " + number(problem.q_len) +
           " query tokens is " + number(rows) + " rows a KV head, which is prefill: attention_decode takes " +
           number(kMaximumRows);
  }
  if (problem.is_mla_generation()) {
    return "latent attention (head dims 576/512) is not what attention_decode computes: K and V are two "
           "pools";
  }
  if (problem.layout != QkvLayout::paged_kv) {
    return "attention_decode reads paged KV, and the layout is " + std::string(to_string(problem.layout));
  }
  if (problem.sparse != SparseAttention::none) return "attention_decode reads all of KV, not the top k of it";
  if (problem.chunk != kUnlimited) return "attention_decode would ignore the chunks";
  if (problem.skips_softmax) return "attention_decode skips no softmax";
  if (problem.sage_block != decltype(problem.sage_block){})
    return "attention_decode would ignore the Sage scales";
  if (problem.data_type_k != problem.data_type_v) {
    return "attention_decode has one type for KV, and K is " + std::string(to_string(problem.data_type_k)) +
           ", V " + std::string(to_string(problem.data_type_v));
  }
  return "";
}

WorkDivision division_of(const AttentionProblem& problem, const DecodePlan& decode) {
  const std::uint32_t group = problem.group_size();
  const std::uint32_t rows = group * problem.q_len;
  WorkDivision division;
  division.kv_splits = decode.splits;
  division.kv_mode = !decode.reduces()        ? MultiCtasKvMode::disabled
                     : decode.reduces_apart() ? MultiCtasKvMode::gmem_separate
                                              : MultiCtasKvMode::gmem;
  division.heads_per_block = std::min(group, decode.tile.q);
  division.tokens_per_block = std::max(1U, decode.tile.q / group);
  // Tokens and heads are packed without gaps: only a single tile can have rows left over when it is full.
  division.wasted_rows = rows < decode.tile.q ? decode.tile.q - rows : 0;
  return division;
}

std::vector<PlanStep> steps_of(const PlanRequest& request, const DecodePlan& decode,
                               const std::vector<EntryPoint>& entry_points) {
  const auto arguments =
      std::make_shared<const DecodeArguments>(decode.parameters, decode.workspace, request.problem);
  const auto step = [&](std::size_t entry, const std::array<std::uint32_t, 3>& grid, bool early) {
    PlanStep made;
    made.kernel = decode.spec;
    made.entry_point = entry_points[entry].name;
    made.grid = grid;
    made.threads = entry_points[entry].threads;
    made.shared_bytes = entry_points[entry].dynamic_shared_bytes;
    made.starts_early = early;
    made.arguments = arguments;
    return made;
  };
  std::vector<PlanStep> steps = {step(kMain, decode.grid, request.options.starts_early)};
  steps.front().counts_on = decode.blocks_per_multiprocessor;
  if (decode.reduces_apart()) steps.push_back(step(kReduction, decode.reduce_grid, true));
  return steps;
}

class TemplateBackend final : public AttentionBackend {
 public:
  explicit TemplateBackend(std::shared_ptr<const KernelTemplate> kernel_template)
      : template_(std::move(kernel_template)) {}

  std::string_view name() const override { return kTemplatesBackend; }

  Result<Consideration> consider(const PlanRequest& request) const override {
    if (std::string reason = missing_feature(request.problem); !reason.empty())
      return template_decline(reason);
    if (request.problem.data_type_o == DataType::e4m3 && request.device.capability < kFirstWithConversions) {
      return template_decline("attention_decode writes e4m3 on devices from " +
                              kFirstWithConversions.to_string() + " on, and this one is of " +
                              request.device.capability.to_string());
    }
    // The template itself says which types, head dims and pages it has.
    const auto common = template_->resolve(decode_specification(request.problem));
    if (!common) return template_decline(common.error().message);
    std::optional<std::vector<DecodeTile>> tiles;
    if (!request.options.may_compile) {
      CUBINET_TRY_ASSIGN(const auto wanted, row_of(*common));
      tiles = existing_tiles(wanted, request);
      if (tiles->empty()) {
        return template_decline(
            "no kernel of attention_decode for this problem exists here, and none may be compiled");
      }
    }
    const auto decode = plan_decode(request, tiles);
    if (!decode) return template_decline(decode.error().message);
    return finish(request, *decode);
  }

 private:
  Result<KernelRow> row_of(const KernelSpec& resolved) const {
    CUBINET_TRY_ASSIGN(auto row, template_->row(resolved));
    if (!row) {
      return Error{ErrorCode::internal, "the template " + template_->name() + " does not declare its row"};
    }
    return *std::move(row);
  }

  // The rows of compiled kernels that differ from `wanted` in nothing but the tile.
  static std::vector<DecodeTile> existing_tiles(const KernelRow& wanted, const PlanRequest& request) {
    std::vector<DecodeTile> tiles;
    const KernelIndex& rows = request.kernels.of(kDecodeTemplate);
    for (const std::uint32_t number : rows.numbers()) {
      const KernelRow& row = rows.row(number);
      KernelSelector shape = row.selector;
      shape.tile_size_q = wanted.selector.tile_size_q;
      shape.tile_size_kv = wanted.selector.tile_size_kv;
      if (shape != wanted.selector || !request.options.targets.allows(row.target)) continue;
      const DecodeTile tile{row.selector.tile_size_q, row.selector.tile_size_kv, row.traits.stages};
      if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(tile);
    }
    return tiles;
  }

  static const KernelRow* find_existing(const KernelRow& wanted, const PlanRequest& request) {
    const KernelIndex& rows = request.kernels.of(kDecodeTemplate);
    const TargetPolicy& targets = request.options.targets;
    for (const bool family_only : {true, false}) {
      if (family_only && !targets.prefers_family) continue;
      for (const std::uint32_t number : rows.find(wanted.selector)) {
        const KernelRow& row = rows.row(number);
        if (family_only && row.target.kind != TargetKind::family) continue;
        if (row.traits == wanted.traits && targets.allows(row.target)) return &row;
      }
    }
    return nullptr;
  }

  // The best target that the caller allows and that can hold the kernel, or why there is none.
  std::variant<SmTarget, std::string> target_of(const KernelSpec& spec, const PlanRequest& request) const {
    const TargetPolicy& targets = request.options.targets;
    const ComputeCapability device = request.device.capability;
    std::string reason = "no target of the device " + device.to_string() + " is left";
    if (const std::string wishes = targets.to_string(); !wishes.empty())
      reason += " by a request that " + wishes;
    for (const SmTarget target : targets.targets(device)) {
      const auto checked = template_->check_target(spec, target);
      if (checked) return target;
      reason = checked.error().message;
    }
    return reason;
  }

  Result<Consideration> finish(const PlanRequest& request, const DecodePlan& decode) const {
    const auto spec = template_->resolve(decode.spec);
    if (!spec) return template_decline(spec.error().message);
    CUBINET_TRY_ASSIGN(const auto entry_points, template_->entry_points(*spec));
    CUBINET_TRY_ASSIGN(KernelRow row, row_of(*spec));
    if (const KernelRow* existing = find_existing(row, request)) {
      row = *existing;
    } else {
      const auto target = target_of(*spec, request);
      if (const auto* reason = std::get_if<std::string>(&target)) return template_decline(*reason);
      row.target = std::get<SmTarget>(target);
      row.function_name = entry_points[kMain].name;
    }
    AttentionPlan plan;
    plan.steps = steps_of(request, decode, entry_points);
    plan.rules.reads_offsets = request.problem.ragged_q;
    plan.workspace = decode.workspace;
    plan.division = division_of(request.problem, decode);
    plan.row = std::move(row);
    plan.cost = decode.cost;
    if (request.options.explains) plan.trace = {decode.spec.to_string()};
    return Consideration(std::move(plan));
  }

  std::shared_ptr<const KernelTemplate> template_;
};

}  // namespace

Result<std::shared_ptr<const AttentionBackend>> make_template_backend() {
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, TemplateCatalog::builtin());
  CUBINET_TRY_ASSIGN(auto kernel_template, catalog.find(kDecodeTemplate));
  return std::shared_ptr<const AttentionBackend>(
      std::make_shared<const TemplateBackend>(std::move(kernel_template)));
}

}  // namespace cubinet
