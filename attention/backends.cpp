// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/backend.hpp>

#include <algorithm>

namespace cubinet {

Result<void> AttentionBackends::add(std::shared_ptr<const AttentionBackend> backend) {
  if (backend->name() == kAutomaticBackend || find(backend->name()) != nullptr) {
    return Error{ErrorCode::invalid_argument,
                 "the name of the attention backend '" + std::string(backend->name()) + "' is taken"};
  }
  backends_.push_back(std::move(backend));
  return {};
}

void AttentionBackends::add_rule(BackendRule rule) {
  rules_.insert(rules_.begin(), std::move(rule));
}

const AttentionBackend* AttentionBackends::find(std::string_view name) const {
  for (const auto& backend : backends_) {
    if (backend->name() == name) return backend.get();
  }
  return nullptr;
}

std::vector<std::string> AttentionBackends::names() const {
  std::vector<std::string> names;
  for (const auto& backend : backends_)
    names.emplace_back(backend->name());
  return names;
}

const BackendRule* AttentionBackends::rule_for(const PlanRequest& request) const {
  for (const BackendRule& rule : rules_) {
    if (rule.applies(request)) return &rule;
  }
  return nullptr;
}

std::vector<std::shared_ptr<const AttentionBackend>> AttentionBackends::order_of(
    const BackendRule* rule) const {
  std::vector<std::shared_ptr<const AttentionBackend>> order = backends_;
  if (rule == nullptr) return order;
  const auto rank = [&](const std::shared_ptr<const AttentionBackend>& backend) {
    return std::find(rule->order.begin(), rule->order.end(), backend->name()) - rule->order.begin();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return order;
}

}  // namespace cubinet
