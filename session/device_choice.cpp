// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/judge.hpp>
#include <cubinet/session/device_choice.hpp>
#include <cubinet/session/needed_builds.hpp>
#include <cubinet/session/open_stores.hpp>

#include <algorithm>

namespace cubinet {
namespace {

DeviceChoice usable_on(ComputeCapability capability, CubinRecords records) {
  const auto targets = targets_wanted(capability, {});
  std::erase_if(records, [&](const auto& record) {
    return std::find(targets.begin(), targets.end(), ImageTarget{record->target, record->kind}) ==
           targets.end();
  });
  return {std::move(records)};
}

}  // namespace

Result<DeviceChoice> choose_for_device(const SessionOptions& session, const DeviceRequest& request,
                                       const std::shared_ptr<Store>& store, CubinRecords records) {
  if (request.problems.empty()) return usable_on(request.device.capability, std::move(records));
  DeviceChoice choice{std::move(records)};
  CUBINET_TRY_ASSIGN(TemplateCatalog templates, TemplateCatalog::builtin());
  CUBINET_TRY_ASSIGN(const auto runtime, make_runtime(session, {.stores = {store}}, std::move(templates)));
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner, AttentionPlanner::create(*runtime, request.device));
  CubinRecords wanted;
  for (const DeviceRequest::Problem& problem : request.problems) {
    const auto specs = kernels_of(problem, planner, false);
    if (!specs) {
      if (specs.error().code != ErrorCode::unsupported) return specs.error();
      choice.unserved.push_back({problem.text, specs.error().message});
      continue;
    }
    for (const KernelSpec& spec : *specs) {
      CUBINET_TRY_ASSIGN(const auto kernel, runtime->resolve(spec));
      CUBINET_TRY_ASSIGN(const KernelExplanation found, runtime->explain(*kernel, request.device.capability));
      if (const ExplainedBuild* build = found.choice()) wanted.push_back(build->record);
    }
  }
  std::erase_if(choice.records, [&](const auto& record) {
    return std::none_of(wanted.begin(), wanted.end(), [&](const auto& one) { return *one == *record; });
  });
  return choice;
}

}  // namespace cubinet
