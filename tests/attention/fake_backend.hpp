// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend_fixture.hpp"

#include <string>

namespace cubinet::test {

// A backend of a program's own. It declines or serves as configured.
class FakeBackend final : public AttentionBackend {
 public:
  explicit FakeBackend(std::string name, std::string reason = "")
      : name_(std::move(name)), reason_(std::move(reason)) {}
  std::string_view name() const override { return name_; }
  Result<PlanDecision> consider(const PlanRequest&) const override {
    if (!reason_.empty()) return PlanDecision(BackendDecline{name_, reason_, {}, {}});
    AttentionPlan plan;
    plan.steps.emplace_back();
    return PlanDecision(std::move(plan));
  }

 private:
  std::string name_;
  std::string reason_;
};

}  // namespace cubinet::test
