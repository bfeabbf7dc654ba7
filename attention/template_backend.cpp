// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/problem_conversion.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kMain = 0;
constexpr std::size_t kReductionEntry = 1;

// The sentence of a decline that quotes an error.
std::string reason_of(const Error& error) {
  return error.message;
}

LaunchConfiguration launch_of(const DecodeProblem& problem, const DecodePlan& plan, const KernelRow& row,
                              const std::vector<EntryPoint>& entry_points) {
  LaunchConfiguration launch;
  const auto tile = std::uint32_t{row.selector.tile_size_q};
  const auto group = static_cast<std::uint32_t>(problem.group());
  const auto rows = group * static_cast<std::uint32_t>(problem.q_len);
  launch.grid = plan.grid;
  launch.threads = entry_points[kMain].threads;
  launch.shared_bytes = entry_points[kMain].dynamic_shared_bytes;
  launch.ctas_kv = static_cast<std::uint32_t>(plan.num_splits);
  launch.ctas_q = plan.grid[0] / launch.ctas_kv;
  launch.head_ctas = static_cast<std::uint32_t>(problem.heads_kv);
  launch.heads_per_cta = std::min(group, tile);
  launch.tokens_per_cta_q = std::max(1U, tile / group);
  // Tokens and heads are packed without gaps: only a single tile can have rows left over when it is full.
  launch.wasted_rows = rows < tile ? tile - rows : 0;
  if (plan.reduces()) {
    launch.reduction = ReductionLaunch{plan.reduce_grid, entry_points[kReductionEntry].threads, 1,
                                       static_cast<std::uint32_t>(problem.head_dim_v)};
  }
  return launch;
}

WorkspaceSizes workspace_of(const DecodePlan& plan) {
  WorkspaceSizes sizes;
  if (!plan.reduces()) return sizes;
  sizes.partial_output_bytes = plan.partial_lse_offset;
  sizes.partial_stats_offset = plan.partial_lse_offset;
  sizes.partial_stats_bytes = plan.workspace_bytes - plan.partial_lse_offset;
  sizes.scratch_bytes = plan.workspace_bytes;
  return sizes;
}

class TemplateBackend final : public AttentionBackend {
 public:
  explicit TemplateBackend(std::shared_ptr<const KernelTemplate> kernel_template)
      : template_(std::move(kernel_template)) {}

  std::string_view name() const override { return kTemplatesBackend; }

  Result<Consideration> consider(const AttentionProblem& problem,
                                 const BackendContext& context) const override {
    const auto converted = decode_problem_of(problem, context.decode);
    if (const auto* reason = std::get_if<std::string>(&converted)) return decline(*reason);
    const auto& decode = std::get<DecodeProblem>(converted);
    // The template itself says which types, head dims and pages it has.
    const auto common = template_->resolve(decode_specification(decode));
    if (!common) return decline(reason_of(common.error()));
    DecodePlanLimits limits;
    limits.splits = context.decode.splits;
    if (!context.may_compile) {
      CUBINET_TRY_ASSIGN(const auto wanted, row_of(*common));
      limits.tiles = existing_tiles(wanted, context);
      if (limits.tiles->empty()) {
        return decline(
            "no kernel of attention_decode for this problem exists here, and none may be compiled");
      }
    }
    const DecodeDevice device{static_cast<int>(context.device.sm_count), context.device.shared_limit()};
    auto plan = plan_decode(decode, device, limits);
    if (!plan) return decline(reason_of(plan.error()));
    return finish(decode, *std::move(plan), context);
  }

 private:
  Consideration decline(std::string reason) const {
    return BackendDecline{std::string(name()), std::move(reason), std::nullopt};
  }

  Result<KernelRow> row_of(const KernelSpec& resolved) const {
    CUBINET_TRY_ASSIGN(auto row, template_->row(resolved));
    if (!row) {
      return Error{ErrorCode::internal, "the template " + template_->name() + " does not declare its row"};
    }
    return *std::move(row);
  }

  // The rows of compiled kernels that differ from `wanted` in nothing but the tile.
  static std::vector<DecodeTile> existing_tiles(const KernelRow& wanted, const BackendContext& context) {
    std::vector<DecodeTile> tiles;
    if (!context.template_rows) return tiles;
    for (const std::uint32_t number : context.template_rows->numbers()) {
      const KernelRow& row = context.template_rows->row(number);
      KernelSelector shape = row.selector;
      shape.tile_size_q = wanted.selector.tile_size_q;
      shape.tile_size_kv = wanted.selector.tile_size_kv;
      if (shape != wanted.selector || !context.policy.targets.allows(row.target)) continue;
      const DecodeTile tile{row.selector.tile_size_q, row.selector.tile_size_kv, row.traits.stages};
      if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(tile);
    }
    return tiles;
  }

  static const KernelRow* find_existing(const KernelRow& wanted, const BackendContext& context) {
    if (!context.template_rows) return nullptr;
    for (const bool family_only : {true, false}) {
      if (family_only && !context.policy.targets.prefers_family) continue;
      for (const std::uint32_t number : context.template_rows->find(wanted.selector)) {
        const KernelRow& row = context.template_rows->row(number);
        if (family_only && row.target.kind != TargetKind::family) continue;
        if (row.traits == wanted.traits && context.policy.targets.allows(row.target)) return &row;
      }
    }
    return nullptr;
  }

  // The best target that the caller allows and that can hold the kernel, or why there is none.
  std::variant<SmTarget, std::string> target_of(const KernelSpec& spec, const BackendContext& context) const {
    std::string reason = "no target of the device " + context.device.capability.to_string() + " is left";
    if (const std::string wishes = context.policy.targets.to_string(); !wishes.empty())
      reason += " by a request that " + wishes;
    for (const SmTarget target : context.policy.targets.targets(context.device.capability)) {
      const auto checked = template_->check_target(spec, target);
      if (checked) return target;
      reason = reason_of(checked.error());
    }
    return reason;
  }

  Result<Consideration> finish(const DecodeProblem& problem, DecodePlan decode,
                               const BackendContext& context) const {
    const auto spec = template_->resolve(decode.spec);
    if (!spec) return decline(reason_of(spec.error()));
    CUBINET_TRY_ASSIGN(const auto entry_points, template_->entry_points(*spec));
    CUBINET_TRY_ASSIGN(KernelRow row, row_of(*spec));
    if (const KernelRow* existing = find_existing(row, context)) {
      row = *existing;
    } else {
      const auto target = target_of(*spec, context);
      if (const auto* reason = std::get_if<std::string>(&target)) return decline(*reason);
      row.target = std::get<SmTarget>(target);
      row.function_name = entry_points[kMain].name;
    }
    AttentionPlan plan;
    plan.backend = name();
    plan.kernel = {row.selector, row.traits, row.shared_bytes, row.threads};
    plan.launch = launch_of(problem, decode, row, entry_points);
    plan.workspace = workspace_of(decode);
    plan.row = std::move(row);
    plan.decode = std::move(decode);
    plan.decode_problem = problem;
    return Consideration(std::move(plan));
  }

  std::shared_ptr<const KernelTemplate> template_;
};

}  // namespace

Result<std::unique_ptr<AttentionBackend>> make_template_backend() {
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, TemplateCatalog::builtin());
  CUBINET_TRY_ASSIGN(auto kernel_template, catalog.find(kDecodeTemplate));
  return std::unique_ptr<AttentionBackend>(std::make_unique<TemplateBackend>(std::move(kernel_template)));
}

}  // namespace cubinet
