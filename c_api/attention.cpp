// SPDX-License-Identifier: Apache-2.0
#include "attention_values.hpp"
#include "handles.hpp"
#include "structures.hpp"

#include <cubinet/session/attention_json.hpp>
#include <cubinet/session/json.hpp>

namespace cubinet::c_api {
namespace {

Result<AttentionTensors> tensors_for(const BoundAttention& bound, const cubinet_attention_tensors* tensors,
                                     const cubinet_workspace* workspace) {
  CUBINET_TRY_ASSIGN(AttentionTensors all, tensors_of(tensors, bound.plan().request.problem));
  if (workspace != nullptr) workspace->workspace.attach(all);
  return all;
}

Result<SharedPrefixAttention::Tensors> tensors_for(const SharedPrefixAttention& bound,
                                                   const cubinet_attention_tensors* tensors,
                                                   const cubinet_workspace* workspace) {
  CUBINET_TRY_ASSIGN(SharedPrefixAttention::Tensors all, shared_tensors_of(tensors, bound.problem()));
  if (workspace != nullptr) workspace->workspace.attach(all.own);
  return all;
}

cubinet_attention_info info_of(const AttentionPlan& plan, std::size_t steps,
                               const WorkspaceSizes& workspace) {
  cubinet_attention_info facts = CUBINET_ATTENTION_INFO_INIT;
  facts.backend = to_c(plan.backend_name());
  facts.kernel = to_c(plan.steps[plan.attention_step()].entry_point);
  facts.steps = static_cast<std::uint32_t>(steps);
  facts.scratch_bytes = workspace.scratch_bytes;
  facts.counter_bytes = workspace.counter_bytes;
  facts.workspace_alignment = kWorkspaceAlignment;
  return facts;
}

cubinet_attention_info info_of(const BoundAttention& bound) {
  const AttentionPlan& plan = bound.plan();
  return info_of(plan, plan.steps.size(), plan.workspace);
}

cubinet_attention_info info_of(const SharedPrefixAttention& bound) {
  const AttentionPlan& own = bound.own().plan();
  return info_of(own, own.steps.size() + bound.prefix().plan().steps.size() + 1, bound.workspace());
}

}  // namespace
}  // namespace cubinet::c_api

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_attention_plan(cubinet_runtime* runtime, const cubinet_attention_problem* problem,
                                      const cubinet_plan_options* options, cubinet_string device,
                                      uint32_t sm_count, cubinet_text** json, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY(check_pointer(json, "json"));
    CUBINET_TRY_ASSIGN(const auto wanted, any_problem_of(problem));
    CUBINET_TRY_ASSIGN(PlanOptions choices, plan_options_of(options));
    CUBINET_TRY_ASSIGN(const std::string name, text_of(device, "device"));
    CUBINET_TRY_ASSIGN(const DeviceFacts facts, DeviceFacts::named(name, sm_count));
    if (const auto* shared = std::get_if<SharedPrefixProblem>(&wanted)) {
      CUBINET_TRY_ASSIGN(const SharedPrefixPlan plan,
                         runtime->session->plan(*shared, facts, std::move(choices)));
      *json = make_text(json_text(describe(plan)));
      return {};
    }
    CUBINET_TRY_ASSIGN(const AttentionResolution resolution,
                       runtime->session->plan(std::get<AttentionProblem>(wanted), facts, std::move(choices)));
    if (!resolution.plan) return resolution.error();
    *json = make_text(json_text(describe(resolution)));
    return {};
  });
}

cubinet_status cubinet_attention_bind(cubinet_runtime* runtime, const cubinet_attention_problem* problem,
                                      const cubinet_plan_options* options, int32_t device,
                                      cubinet_attention** attention, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY(check_pointer(attention, "attention"));
    CUBINET_TRY_ASSIGN(const auto wanted, any_problem_of(problem));
    CUBINET_TRY_ASSIGN(PlanOptions choices, plan_options_of(options));
    CUBINET_TRY_ASSIGN(const auto opened, runtime->session->device(device));
    if (const auto* shared = std::get_if<SharedPrefixProblem>(&wanted)) {
      CUBINET_TRY_ASSIGN(SharedPrefixAttention bound,
                         runtime->session->attention(*shared, opened, std::move(choices)));
      *attention = new cubinet_attention{std::move(bound)};
      return {};
    }
    CUBINET_TRY_ASSIGN(BoundAttention bound, runtime->session->attention(std::get<AttentionProblem>(wanted),
                                                                         opened, std::move(choices)));
    *attention = new cubinet_attention{std::move(bound)};
    return {};
  });
}

cubinet_attention* cubinet_attention_retain(cubinet_attention* attention) {
  return retain(attention);
}

void cubinet_attention_release(cubinet_attention* attention) {
  release(attention);
}

cubinet_status cubinet_attention_get_info(const cubinet_attention* attention, cubinet_attention_info* info,
                                          cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(attention, "attention"));
    const auto facts = std::visit([](const auto& bound) { return info_of(bound); }, attention->bound);
    return write_structure(facts, info, "info");
  });
}

cubinet_status cubinet_workspace_create(const cubinet_attention* attention, cubinet_workspace** workspace,
                                        cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(attention, "attention"));
    CUBINET_TRY(check_pointer(workspace, "workspace"));
    CUBINET_TRY_ASSIGN(
        AttentionWorkspace memory,
        std::visit([](const auto& bound) { return bound.make_workspace(); }, attention->bound));
    *workspace = new cubinet_workspace{std::move(memory)};
    return {};
  });
}

void cubinet_workspace_release(cubinet_workspace* workspace) {
  delete workspace;
}

cubinet_status cubinet_attention_run(const cubinet_attention* attention,
                                     const cubinet_attention_tensors* tensors,
                                     const cubinet_workspace* workspace, void* stream,
                                     cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(attention, "attention"));
    return std::visit(
        [&](const auto& bound) -> Result<void> {
          CUBINET_TRY_ASSIGN(const auto all, tensors_for(bound, tensors, workspace));
          return bound.run(all, static_cast<CUstream>(stream));
        },
        attention->bound);
  });
}

cubinet_status cubinet_attention_check(const cubinet_attention* attention,
                                       const cubinet_attention_tensors* tensors,
                                       const cubinet_workspace* workspace, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(attention, "attention"));
    return std::visit(
        [&](const auto& bound) -> Result<void> {
          CUBINET_TRY_ASSIGN(const auto all, tensors_for(bound, tensors, workspace));
          return bound.check(all);
        },
        attention->bound);
  });
}
