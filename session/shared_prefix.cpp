// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session.hpp>
#include <cubinet/session/planner_cache.hpp>

#include <utility>

namespace cubinet {

Result<SharedPrefixPlan> Session::plan(const SharedPrefixProblem& problem, const DeviceFacts& device,
                                       PlanOptions options, std::string_view device_name) const {
  CUBINET_TRY_ASSIGN(const PlannerCache::Found known, planners_->find(device, device_name));
  if (options.targets == TargetPolicy{}) options.targets = options_.targets;
  return plan_shared_prefix(problem, *known.planner, std::move(options));
}

Result<SharedPrefixAttention> Session::attention(const SharedPrefixProblem& problem,
                                                 const std::shared_ptr<const Device>& device,
                                                 PlanOptions options) const {
  const DeviceProperties& properties = device->properties();
  CUBINET_TRY_ASSIGN(const SharedPrefixPlan chosen,
                     plan(problem, DeviceFacts::of(properties), std::move(options), properties.name));
  CUBINET_TRY_ASSIGN(BoundAttention own, attention(chosen.own.problem, device, chosen.own.options));
  CUBINET_TRY_ASSIGN(BoundAttention prefix, attention(chosen.prefix.problem, device, chosen.prefix.options));
  return SharedPrefixAttention::compose(*runtime_, chosen, std::move(prefix), std::move(own),
                                        properties.ordinal);
}

}  // namespace cubinet
