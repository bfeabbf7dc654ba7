// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session.hpp>
#include <cubinet/session/planner_cache.hpp>

#include <utility>

namespace cubinet {

Result<SharedPrefixAttention> Session::shared_prefix_attention(const SharedPrefixProblem& problem,
                                                               const std::shared_ptr<const Device>& device,
                                                               PlanOptions options) const {
  const DeviceProperties& properties = device->properties();
  if (options.targets == TargetPolicy{}) options.targets = options_.targets;
  CUBINET_TRY_ASSIGN(const PlannerCache::Found known,
                     planners_->find(DeviceFacts::of(properties), properties.name));
  CUBINET_TRY_ASSIGN(const SharedPrefixPlan plan,
                     plan_shared_prefix(problem, *known.planner, std::move(options)));
  CUBINET_TRY_ASSIGN(BoundAttention own, attention(plan.own.problem, device, plan.own.options));
  CUBINET_TRY_ASSIGN(BoundAttention prefix, attention(plan.prefix.problem, device, plan.prefix.options));
  return SharedPrefixAttention::compose(*runtime_, plan, std::move(prefix), std::move(own),
                                        properties.ordinal);
}

}  // namespace cubinet
