// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/backend.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/selection/explanation.hpp>

namespace cubinet {
namespace {

constexpr const char* kNotLaunchable =
    "the structure of its arguments belongs to another project, so it is chosen, sized and verified only";

class ImportedBackend final : public AttentionBackend {
 public:
  std::string_view name() const override { return kImportedBackend; }

  Result<Consideration> consider(const AttentionProblem& problem,
                                 const BackendContext& context) const override {
    const bool assumed = context.policy.assumes_all_kernels;
    if (!assumed && (!context.imported_rows || context.imported_rows->rows()->empty())) {
      return decline("there are no rows of published artifacts");
    }
    // The published rows of latent attention apply the causal limit of their query tokens under the name
    // dense: they would ignore that none is wanted.
    if (!assumed && problem.is_mla_generation() && problem.q_len > 1 &&
        problem.mask == AttentionMask::dense) {
      return decline(
          "the published kernels of latent attention limit query tokens causally, and the mask is dense");
    }
    static const KernelIndex kNone = KernelIndex::build(std::make_shared<std::vector<KernelRow>>(), {});
    const KernelIndex& index = context.imported_rows ? *context.imported_rows : kNone;
    CUBINET_TRY_ASSIGN(const Selection selection, select(problem, context.device, index, context.policy));
    if (!selection.found) {
      std::string reason =
          index.numbers().empty() ? none_runs_here(index) : miss_reason(problem, context.device, selection);
      return Consideration(BackendDecline{std::string(name()), std::move(reason), selection});
    }
    AttentionPlan plan;
    plan.backend = name();
    plan.kernel = selection.kernel;
    if (selection.row != nullptr) plan.row = *selection.row;
    plan.launch = selection.launch;
    plan.workspace = selection.workspace;
    plan.not_launchable = kNotLaunchable;
    plan.selection = selection;
    plan.rows = index.rows();
    return Consideration(std::move(plan));
  }

 private:
  Consideration decline(std::string reason) const {
    return BackendDecline{std::string(name()), std::move(reason), std::nullopt};
  }

  static std::string none_runs_here(const KernelIndex& index) {
    const KernelIndex::Usage& usage = index.usage();
    std::string reason = "none of the " +
                         plural(usage.other_targets + usage.not_understood, "published row") + " runs on " +
                         index.device().to_string();
    if (usage.not_understood > 0) reason += ": " + usage.passed_over();
    return reason;
  }
};

}  // namespace

std::unique_ptr<AttentionBackend> make_imported_backend() {
  return std::make_unique<ImportedBackend>();
}

}  // namespace cubinet
