// SPDX-License-Identifier: Apache-2.0
#include "templates/family_planner.hpp"

#include "backend_fixture.hpp"
#include "fake_family.hpp"
#include "support/ok.hpp"

namespace cubinet {
namespace {

using test::FakeFamily;
using test::ok;

const AttentionProblem kPlanned = test::generation(4, 1, 8192, 32, 4);

PlanRequest planned_request(const std::vector<KernelRow>& rows = {}) {
  return {kPlanned, test::kH200, test::available(rows, test::kH200.capability), {}};
}

AttentionPlan planned(const FakeFamily& family, const PlanRequest& request) {
  const FamilyAnswer answer =
      ok(plan_with_family(family, DeclaredKernels(ok(TemplateCatalog::builtin())), request));
  REQUIRE_MESSAGE(std::holds_alternative<AttentionPlan>(answer), std::get<std::string>(answer));
  return std::get<AttentionPlan>(answer);
}

std::string refusal_of(const FakeFamily& family, const PlanRequest& request) {
  const FamilyAnswer answer =
      ok(plan_with_family(family, DeclaredKernels(ok(TemplateCatalog::builtin())), request));
  REQUIRE(std::holds_alternative<std::string>(answer));
  return std::get<std::string>(answer);
}

// Returns the row of a build for a target.
KernelRow built(const KernelSpec& spec, SmTarget target = {9, 0, TargetKind::specific}) {
  const auto kernel_template = ok(ok(TemplateCatalog::builtin()).find(spec.name));
  KernelRow row = *ok(kernel_template->row(ok(kernel_template->resolve(spec))));
  row.target = target;
  row.function_name = "built";
  row.digest = sha256(as_bytes(spec.to_string()));
  return row;
}

TEST_CASE("a plan of a family has what the family plans, and the launch shape that the template declares") {
  FakeFamily family;
  PlanRequest request = planned_request();
  request.options.starts_early = request.options.explains = true;
  const AttentionPlan plan = planned(family, request);
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].kernel == KernelRequest(family.kernel(kPlanned, 3)));
  CHECK(plan.steps[0].entry_point == "attention_decode");
  CHECK(plan.steps[0].grid[0] == 7);
  CHECK(plan.steps[0].threads == 128);
  CHECK(plan.steps[0].shared_bytes > 0);
  CHECK(plan.steps[0].starts_early);
  CHECK(plan.steps[0].counts_on == 2);
  CHECK(plan.workspace.scratch_bytes == 512);
  CHECK(plan.rules.reads_offsets);
  CHECK(plan.division.kv_splits == 9);
  CHECK(plan.cost.time == 40);
  CHECK(plan.choice == KernelChoice::best);
  CHECK(plan.row.implementation == "attention_decode");
  CHECK(plan.row.target == SmTarget{9, 0, TargetKind::specific});
  CHECK(plan.trace == std::vector<std::string>{family.kernel(kPlanned, 3).to_string(),
                                               "the best kernel by the rules and the cost model"});
}

TEST_CASE("a family with a gap, without a plan or without a template for the problem states its reason") {
  FakeFamily family;
  family.missing = "the family lacks a mask";
  CHECK(refusal_of(family, planned_request()) == "the family lacks a mask");
  family = {};
  family.failure = "no tile fits";
  CHECK(refusal_of(family, planned_request()) == "no tile fits");
  family = {};
  PlanRequest request = planned_request();
  request.problem.head_dim_qk = 72;
  CHECK(test::holds(refusal_of(family, request), "head_dim_qk"));
  request = planned_request();
  request.options.targets.pinned = SmTarget{10, 0, TargetKind::family};
  CHECK(test::holds(refusal_of(family, request), "pins sm_100f"));
  family.template_name = "nobody_has_this";
  CHECK_FALSE(plan_with_family(family, DeclaredKernels(ok(TemplateCatalog::builtin())), planned_request()));
}

TEST_CASE("without a compiler a family plans with the kernels of which builds exist, and their followers") {
  FakeFamily family;
  const KernelSpec other = family.kernel(kPlanned, 5);
  family.follower = KernelSpec{"attention_combine", {}}.set("head_dim_v", 128);
  PlanRequest request = planned_request();
  request.options.may_compile = false;
  CHECK(test::holds(refusal_of(family, request), "none may be compiled"));
  request.kernels = planned_request({built(other)}).kernels;
  const AttentionPlan alone = planned(family, request);
  CHECK(alone.exists());
  CHECK(alone.row.function_name == "built");
  REQUIRE(alone.steps.size() == 1);
  CHECK(alone.steps[0].kernel == KernelRequest(other));
  request.kernels = planned_request({built(other), built(*family.follower)}).kernels;
  CHECK(planned(family, request).steps.size() == 2);
  request.options.targets.forbidden = {{9, 0, TargetKind::specific}};
  CHECK(test::holds(refusal_of(family, request), "none may be compiled"));
}

TEST_CASE("an existing build nearly as fast as the best is taken instead of compiling the best") {
  FakeFamily family;
  const KernelSpec other = family.kernel(kPlanned, 5);
  PlanRequest request = planned_request({built(other)});
  request.options.explains = true;
  family.existing_time = 44;
  const AttentionPlan near = planned(family, request);
  CHECK(near.steps[0].kernel == KernelRequest(other));
  CHECK(near.exists());
  CHECK(near.cost.time == 44);
  CHECK(near.choice == KernelChoice::existing_near_best);
  CHECK(near.trace.back() == "existing build within 1.1 of the best");
  family.existing_time = 44.1;
  const AttentionPlan best = planned(family, request);
  CHECK(best.steps[0].kernel == KernelRequest(family.kernel(kPlanned, 3)));
  CHECK_FALSE(best.exists());
  CHECK(best.choice == KernelChoice::best);
  // The best kernel itself, once it is built, needs no replacement.
  request.kernels = planned_request({built(other), built(family.kernel(kPlanned, 3))}).kernels;
  family.existing_time = 30;
  CHECK(planned(family, request).choice == KernelChoice::best);
  CHECK(planned(family, request).exists());
}

TEST_CASE("a best kernel whose follower is not built gives way to builds that need none") {
  FakeFamily family;
  family.follower = KernelSpec{"attention_combine", {}}.set("head_dim_v", 128);
  PlanRequest request = planned_request({built(family.kernel(kPlanned, 3))});
  const AttentionPlan alone = planned(family, request);
  CHECK(alone.choice == KernelChoice::existing_near_best);
  CHECK(alone.steps.size() == 1);
  request.kernels = planned_request({built(family.kernel(kPlanned, 3)), built(*family.follower)}).kernels;
  const AttentionPlan both = planned(family, request);
  CHECK(both.choice == KernelChoice::best);
  CHECK(both.steps.size() == 2);
}

TEST_CASE("existing builds do not replace a named kernel, assumed kernels or splits of a fixed length") {
  FakeFamily family;
  const PlanRequest request = planned_request({built(family.kernel(kPlanned, 5))});
  PlanRequest named = request;
  named.options.kernel = family.kernel(kPlanned, 4);
  CHECK(planned(family, named).choice == KernelChoice::named);
  PlanRequest fixed = request;
  fixed.options.split_tokens = 1024;
  CHECK(planned(family, fixed).choice == KernelChoice::best);
  PlanRequest assumed = request;
  assumed.options.assumes_all_kernels = true;
  CHECK(planned(family, assumed).choice == KernelChoice::best);
  PlanRequest forbidden = request;
  forbidden.options.targets.forbidden = {{9, 0, TargetKind::specific}};
  forbidden.options.targets.pinned.reset();
  const FamilyAnswer answer = ok(plan_with_family(family, DeclaredKernels(ok(TemplateCatalog::builtin())), forbidden));
  if (const auto* plan = std::get_if<AttentionPlan>(&answer)) CHECK(plan->choice == KernelChoice::best);
  PlanRequest only = request;
  only.options.may_compile = false;
  CHECK(planned(family, only).choice == KernelChoice::existing_only);
}

TEST_CASE("a row that its template does not declare is no kernel that exists") {
  FakeFamily family;
  PlanRequest request = planned_request();
  request.options.may_compile = false;
  KernelRow row = built(family.kernel(kPlanned, 5));
  for (std::uint32_t KernelTraits::*field : {&KernelTraits::step_q, &KernelTraits::step_kv}) {
    KernelRow damaged = row;
    damaged.traits.*field *= 2;
    request.kernels = planned_request({damaged}).kernels;
    CHECK(test::holds(refusal_of(family, request), "none may be compiled"));
  }
  row.traits.stages = 77;
  request.kernels = planned_request({row}).kernels;
  CHECK(test::holds(refusal_of(family, request), "none may be compiled"));
}

TEST_CASE("a kernel that the request names is planned with, unless the problem or the builds have another") {
  FakeFamily family;
  PlanRequest request = planned_request();
  request.options.kernel = family.kernel(kPlanned, 5);
  CHECK(planned(family, request).steps[0].kernel == KernelRequest(*request.options.kernel));
  request.options.kernel->set("soft_cap", true);
  CHECK(test::holds(refusal_of(family, request), "is not for this problem"));
  request.options.kernel = family.kernel(kPlanned, 77);
  CHECK(test::holds(refusal_of(family, request), "is no kernel: "));
  request.options.kernel = family.specification(kPlanned);
  CHECK(
      test::holds(refusal_of(family, request), "is no kernel of attention_decode that may be planned with"));
  request.options.kernel = KernelSpec{"attention_wide", {}}.set("stages", 3);
  CHECK(
      test::holds(refusal_of(family, request), "is no kernel of attention_decode that may be planned with"));
  request = planned_request({built(family.kernel(kPlanned, 5))});
  request.options.may_compile = false;
  request.options.kernel = family.kernel(kPlanned, 4);
  CHECK(test::holds(refusal_of(family, request), "that may be planned with"));
  request.options.kernel = family.kernel(kPlanned, 5);
  CHECK(planned(family, request).exists());
}

TEST_CASE("an existing build is named with its target, a family target first where the policy wants it") {
  FakeFamily family;
  const KernelSpec kernel = family.kernel(kPlanned, 3);
  PlanRequest request = planned_request({built(kernel, {9, 0, TargetKind::baseline})});
  CHECK(planned(family, request).row.target.kind == TargetKind::baseline);
  request.options.targets.forbidden = {{9, 0, TargetKind::baseline}};
  const AttentionPlan compiled = planned(family, request);
  CHECK_FALSE(compiled.exists());
  CHECK(compiled.row.function_name == "attention_decode");
  const ComputeCapability device = test::kB200.capability;
  const std::vector rows = {built(kernel, {10, 0, TargetKind::specific}),
                            built(kernel, {10, 0, TargetKind::family})};
  PlanRequest other = {kPlanned, test::kB200, test::available(rows, device), {}};
  CHECK(planned(family, other).row.target.kind == TargetKind::specific);
  other.options.targets.prefers_family = true;
  CHECK(planned(family, other).row.target.kind == TargetKind::family);
}

}  // namespace
}  // namespace cubinet
