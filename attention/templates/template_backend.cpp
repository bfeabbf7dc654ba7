// SPDX-License-Identifier: Apache-2.0
#include "template_backend.hpp"

#include "decode_alternatives.hpp"
#include "decode_arguments.hpp"
#include "decode_plan.hpp"

#include <cubinet/attention/tuning_candidates.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

BackendDecline template_decline(std::string reason) {
  return {std::string(kTemplatesBackend), std::move(reason), {}, {}};
}

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

// Returns a step with the kernel that has the name of its template.
Result<PlanStep> step_of(const KernelTemplate& kernel_template, const KernelSpec& spec,
                         const std::array<std::uint32_t, 3>& grid, bool starts_early) {
  CUBINET_TRY_ASSIGN(const auto entry_points, kernel_template.entry_points(spec));
  PlanStep step;
  step.kernel = spec;
  step.entry_point = entry_points.front().name;
  step.grid = grid;
  step.threads = entry_points.front().threads;
  step.shared_bytes = entry_points.front().dynamic_shared_bytes;
  step.starts_early = starts_early;
  return step;
}

// Returns the first row of an index that equals `wanted` in selector and traits, for a target that
// the request allows. Prefers family targets if the policy does.
const KernelRow* find_row(const KernelIndex& rows, const KernelRow& wanted, const TargetPolicy& targets) {
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

// The plan of a family, or the reason why there is none.
using FamilyAnswer = std::variant<AttentionPlan, std::string>;

// Plans one request with one family.
class FamilyPlanner {
 public:
  FamilyPlanner(const DecodeFamily& family, const KernelTemplate& kernel_template,
                const KernelTemplate& combine_template, const std::string& version,
                const PlanRequest& request)
      : family_(family),
        template_(kernel_template),
        combine_template_(combine_template),
        version_(version),
        request_(request) {}

  Result<FamilyAnswer> plan() const {
    if (std::string gap = family_.gap(request_.problem, request_.device.capability); !gap.empty()) return gap;
    // The template itself declares its types, head dims and page sizes.
    const auto common = template_.resolve(decode_specification(family_, request_.problem));
    if (!common) return common.error().message;
    std::optional<std::vector<DecodeTile>> tiles;
    if (!request_.options.may_compile) {
      CUBINET_TRY_ASSIGN(const auto wanted, row_of(template_, *common));
      tiles = existing_tiles(wanted);
      if (tiles->empty()) {
        return "no kernel of " + template_.name() + " for this problem exists here, and none may be compiled";
      }
    }
    if (const auto& named = request_.options.kernel) {
      if (named->name == template_.name()) {
        // The name of the kernel may come from a file, so the planner computes only with sizes that
        // the template has.
        if (const auto checked = template_.resolve(*named); !checked)
          return named->to_string() + " is no kernel: " + checked.error().message;
      }
      const auto tile = tile_of(*named);
      const bool exists = tile && (!tiles || std::find(tiles->begin(), tiles->end(), *tile) != tiles->end());
      if (named->name != template_.name() || !exists)
        return named->to_string() + " is no kernel of " + template_.name() + " that may be planned with";
      tiles = {*tile};
    }
    Callback<bool(const KernelSpec&)> has_kernel;
    if (!request_.options.may_compile)
      has_kernel = [this](const KernelSpec& spec) { return can_combine(spec); };
    const auto decode = plan_decode(request_, family_, tiles, has_kernel);
    if (!decode) return decode.error().message;
    if (request_.options.kernel && *request_.options.kernel != decode->spec)
      return request_.options.kernel->to_string() + " is not for this problem";
    return finish(*decode);
  }

 private:
  static Result<KernelRow> row_of(const KernelTemplate& kernel_template, const KernelSpec& resolved) {
    CUBINET_TRY_ASSIGN(auto row, kernel_template.row(resolved));
    if (!row)
      return Error{ErrorCode::internal,
                   "the template " + kernel_template.name() + " does not declare its row"};
    return *std::move(row);
  }

  // Returns whether a build of the kernel that combines exists.
  bool can_combine(const KernelSpec& spec) const {
    const auto resolved = combine_template_.resolve(spec);
    if (!resolved) return false;
    const auto wanted = row_of(combine_template_, *resolved);
    return wanted && find_row(request_.kernels.of(spec.name), *wanted, request_.options.targets) != nullptr;
  }

  // Returns whether the template has the tile. A row may come from any file, so the planner ignores
  // tiles that the template does not have and computes nothing from them.
  bool has_tile(const DecodeTile& tile) const {
    return tile.q != 0 && tile.kv != 0 && tile.stages != 0 &&
           template_.resolve(decode_specification(family_, request_.problem, tile));
  }

  // Returns the tiles of the compiled kernels that differ from `wanted` only in their tile, and
  // whose cluster has the size that the family uses for the tile.
  std::vector<DecodeTile> existing_tiles(const KernelRow& wanted) const {
    std::vector<DecodeTile> tiles;
    const KernelIndex& rows = request_.kernels.of(template_.name());
    for (const std::uint32_t number : rows.numbers()) {
      const KernelRow& row = rows.row(number);
      KernelSelector shape = row.selector;
      shape.tile_size_q = wanted.selector.tile_size_q;
      shape.tile_size_kv = wanted.selector.tile_size_kv;
      if (shape != wanted.selector || !request_.options.targets.allows(row.target)) continue;
      const DecodeTile tile{row.selector.tile_size_q, row.selector.tile_size_kv, row.traits.stages};
      if (!has_tile(tile)) continue;
      if (row.traits.step_q != tile.q * family_.block(request_.problem, tile).cluster) continue;
      if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(tile);
    }
    return tiles;
  }

  // Returns the best target that the caller allows and that can hold the kernel, or the reason why
  // there is none.
  std::variant<SmTarget, std::string> target_of(const KernelSpec& spec) const {
    const TargetPolicy& targets = request_.options.targets;
    const ComputeCapability device = request_.device.capability;
    std::string reason = "no target of the device " + device.to_string() + " is left";
    if (const std::string policy = targets.to_string(); !policy.empty())
      reason += " by a request that " + policy;
    for (const SmTarget target : targets.targets(device)) {
      const auto checked = template_.check_target(spec, target);
      if (checked) return target;
      reason = checked.error().message;
    }
    return reason;
  }

  Result<std::vector<PlanStep>> steps_of(const DecodePlan& decode) const {
    const auto arguments =
        std::make_shared<const DecodeArguments>(decode.parameters, decode.workspace, request_.problem);
    std::vector<PlanStep> steps;
    CUBINET_TRY_ASSIGN(steps.emplace_back(),
                       step_of(template_, decode.spec, decode.grid, request_.options.starts_early));
    steps.front().counts_on = decode.blocks_per_multiprocessor;
    if (decode.combines_apart()) {
      CUBINET_TRY_ASSIGN(steps.emplace_back(),
                         step_of(combine_template_, decode.combine, decode.combine_grid, true));
    }
    for (PlanStep& step : steps)
      step.arguments = arguments;
    return steps;
  }

  Result<FamilyAnswer> finish(const DecodePlan& decode) const {
    const auto spec = template_.resolve(decode.spec);
    if (!spec) return spec.error().message;
    CUBINET_TRY_ASSIGN(std::vector<PlanStep> steps, steps_of(decode));
    CUBINET_TRY_ASSIGN(KernelRow row, row_of(template_, *spec));
    if (const KernelRow* existing =
            find_row(request_.kernels.of(template_.name()), row, request_.options.targets)) {
      row = *existing;
    } else {
      const auto target = target_of(*spec);
      if (const auto* reason = std::get_if<std::string>(&target)) return *reason;
      row.target = std::get<SmTarget>(target);
      row.function_name = steps.front().entry_point;
    }
    AttentionPlan plan;
    plan.steps = std::move(steps);
    plan.rules.reads_offsets = request_.problem.ragged_q;
    plan.workspace = decode.workspace;
    plan.division = division_of(request_.problem, decode);
    plan.row = std::move(row);
    plan.cost = decode.cost;
    plan.kernel_version = version_;
    if (request_.options.explains) plan.trace = {decode.spec.to_string()};
    return FamilyAnswer(std::move(plan));
  }

  const DecodeFamily& family_;
  const KernelTemplate& template_;
  const KernelTemplate& combine_template_;
  const std::string& version_;  // version of the family's template
  const PlanRequest& request_;
};

class TemplateBackend final : public AttentionBackend {
 public:
  explicit TemplateBackend(TemplateCatalog catalog) : catalog_(std::move(catalog)) {
    for (const auto& kernel_template : catalog_.list())
      versions_.emplace(kernel_template->name(), version_of(*kernel_template));
  }

  std::string_view name() const override { return kTemplatesBackend; }

  // Returns the plan of the first family that serves the problem. The trace states why the families
  // before it do not.
  Result<PlanDecision> consider(const PlanRequest& request) const override {
    const ComputeCapability device = request.device.capability;
    if (std::string gap = decode_gap(request.problem, device); !gap.empty()) return template_decline(gap);
    CUBINET_TRY_ASSIGN(const auto combine_template, catalog_.find(kCombineTemplate));
    std::vector<std::string> reasons;
    for (const DecodeFamily* family : families(request)) {
      CUBINET_TRY_ASSIGN(const auto kernel_template, catalog_.find(family->name));
      CUBINET_TRY_ASSIGN(FamilyAnswer answer, FamilyPlanner(*family, *kernel_template, *combine_template,
                                                            versions_.at(family->name), request)
                                                  .plan());
      if (auto* plan = std::get_if<AttentionPlan>(&answer)) {
        if (request.options.explains) plan->trace.insert(plan->trace.begin(), reasons.begin(), reasons.end());
        return PlanDecision(std::move(*plan));
      }
      reasons.push_back(std::get<std::string>(std::move(answer)));
    }
    return template_decline(join(reasons, "; "));
  }

  Result<std::vector<PlanOptions>> alternatives(const PlanRequest& request) const override {
    const ComputeCapability device = request.device.capability;
    std::vector<DecodeAlternative> found;
    if (!decode_gap(request.problem, device).empty()) return std::vector<PlanOptions>();
    for (const DecodeFamily* family : families(request)) {
      if (!family->gap(request.problem, device).empty()) continue;
      CUBINET_TRY_ASSIGN(const auto kernel_template, catalog_.find(family->name));
      for (DecodeAlternative& alternative : decode_alternatives(request, *family, *kernel_template))
        found.push_back(std::move(alternative));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const DecodeAlternative& a, const DecodeAlternative& b) { return a.time < b.time; });
    std::vector<PlanOptions> options;
    for (DecodeAlternative& alternative : found)
      options.push_back(std::move(alternative.options));
    return options;
  }

 private:
  // Returns the families in the order in which they are queried. For splits of a fixed length the
  // order does not depend on the batch, so the same family serves every batch.
  static std::vector<const DecodeFamily*> families(const PlanRequest& request) {
    AttentionProblem problem = request.problem;
    if (request.options.split_tokens) problem.batch = 1;
    return decode_families(problem, request.device.capability);
  }

  TemplateCatalog catalog_;
  std::map<std::string, std::string, std::less<>> versions_;  // versions of the templates, by name
};

}  // namespace

Result<std::shared_ptr<const AttentionBackend>> make_template_backend() {
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog, TemplateCatalog::builtin());
  return std::shared_ptr<const AttentionBackend>(std::make_shared<const TemplateBackend>(std::move(catalog)));
}

}  // namespace cubinet
