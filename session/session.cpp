// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/planner.hpp>
#include <cubinet/session.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/template_files.hpp>

namespace cubinet {

Result<std::shared_ptr<Session>> Session::open(SessionOptions options) {
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog, load_catalog(*posix_file_system(), options.template_files));
  CUBINET_TRY_ASSIGN(OpenedStores opened, open_stores(options));
  auto home = opened.home;
  CUBINET_TRY_ASSIGN(auto runtime, make_runtime(options, std::move(opened), std::move(catalog)));
  return std::shared_ptr<Session>(new Session(std::move(options), std::move(home), std::move(runtime)));
}

Result<std::shared_ptr<const Device>> Session::device(int ordinal) const {
  return runtime_->device(ordinal);
}

Result<BoundAttention> Session::attention(const AttentionProblem& problem,
                                          const std::shared_ptr<const Device>& device,
                                          PlanOptions options) const {
  const DeviceProperties& properties = device->properties();
  CUBINET_TRY_ASSIGN(const AttentionResolution resolution,
                     plan(problem, DeviceFacts::of(properties), std::move(options), properties.name));
  if (!resolution.plan) return resolution.error();
  return BoundAttention::bind(*runtime_, *resolution.plan, properties.ordinal);
}

Result<AttentionResolution> Session::plan(const AttentionProblem& problem, const DeviceFacts& device,
                                          PlanOptions options, std::string_view device_name) const {
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner,
                     AttentionPlanner::create(*runtime_, device, device_name));
  if (options.targets == TargetPolicy{}) options.targets = options_.targets;
  return planner.resolve(problem, std::move(options));
}

}  // namespace cubinet
