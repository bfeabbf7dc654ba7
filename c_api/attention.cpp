// SPDX-License-Identifier: Apache-2.0
#include "attention_values.hpp"
#include "handles.hpp"
#include "structures.hpp"

#include <cubinet/session/attention_json.hpp>
#include <cubinet/session/json.hpp>

namespace cubinet::c_api {
namespace {

Result<AttentionTensors> with_workspace(const cubinet_attention* attention,
                                        const cubinet_attention_tensors* tensors,
                                        const cubinet_workspace* workspace) {
  CUBINET_TRY_ASSIGN(AttentionTensors all, tensors_of(tensors, attention->bound.plan().request.problem));
  if (workspace != nullptr) workspace->workspace.attach(all);
  return all;
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
    CUBINET_TRY_ASSIGN(const AttentionProblem wanted, problem_of(problem));
    CUBINET_TRY_ASSIGN(PlanOptions choices, plan_options_of(options));
    CUBINET_TRY_ASSIGN(const std::string name, text_of(device, "device"));
    CUBINET_TRY_ASSIGN(const DeviceFacts facts, DeviceFacts::named(name, sm_count));
    CUBINET_TRY_ASSIGN(const AttentionResolution resolution,
                       runtime->session->plan(wanted, facts, std::move(choices)));
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
    CUBINET_TRY_ASSIGN(const AttentionProblem wanted, problem_of(problem));
    CUBINET_TRY_ASSIGN(PlanOptions choices, plan_options_of(options));
    CUBINET_TRY_ASSIGN(const auto opened, runtime->session->device(device));
    CUBINET_TRY_ASSIGN(BoundAttention bound, runtime->session->attention(wanted, opened, std::move(choices)));
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
    const AttentionPlan& plan = attention->bound.plan();
    cubinet_attention_info facts = CUBINET_ATTENTION_INFO_INIT;
    facts.backend = to_c(plan.backend_name());
    facts.kernel = to_c(plan.steps[plan.attention_step()].entry_point);
    facts.steps = static_cast<std::uint32_t>(plan.steps.size());
    facts.scratch_bytes = plan.workspace.scratch_bytes;
    facts.counter_bytes = plan.workspace.counter_bytes;
    facts.workspace_alignment = kWorkspaceAlignment;
    return write_structure(facts, info, "info");
  });
}

cubinet_status cubinet_workspace_create(const cubinet_attention* attention, cubinet_workspace** workspace,
                                        cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(attention, "attention"));
    CUBINET_TRY(check_pointer(workspace, "workspace"));
    CUBINET_TRY_ASSIGN(AttentionWorkspace memory, attention->bound.make_workspace());
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
    CUBINET_TRY_ASSIGN(const AttentionTensors all, with_workspace(attention, tensors, workspace));
    return attention->bound.run(all, static_cast<CUstream>(stream));
  });
}

cubinet_status cubinet_attention_check(const cubinet_attention* attention,
                                       const cubinet_attention_tensors* tensors,
                                       const cubinet_workspace* workspace, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(attention, "attention"));
    CUBINET_TRY_ASSIGN(const AttentionTensors all, with_workspace(attention, tensors, workspace));
    return attention->bound.check(all);
  });
}
