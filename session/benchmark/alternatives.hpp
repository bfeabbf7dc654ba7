// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/planner.hpp>
#include <cubinet/session/benchmark.hpp>
#include <cubinet/session/checked_attention.hpp>

#include <vector>

namespace cubinet {

// The loaded alternatives of a plan.
class PlanAlternatives {
 public:
  // Lists and binds the alternatives of `plan`, on `threads` threads (0: one per core). Leaves out
  // those that cannot be bound.
  static Result<PlanAlternatives> bind(Runtime& runtime, const AttentionPlanner& planner,
                                       const AttentionPlan& plan, int device, unsigned threads);

  // Returns a workspace in which each of them can run.
  const WorkspaceSizes& workspace() const { return workspace_; }
  // Compares each of them with the reference and times it beside the plan that `checked` runs.
  // Fills in BenchmarkRow::planned and BenchmarkRow::alternatives. REQUIRES: the buffers of
  // `checked` have the workspace.
  Result<void> measure(const std::shared_ptr<const Device>& device, const CheckedAttention& checked,
                       const AttentionInputs& inputs, const AttentionOutputs& reference, std::uint32_t runs,
                       const Callback<bool()>& cancelled, BenchmarkRow& row) const;

 private:
  std::vector<BoundAttention> bound_;
  WorkspaceSizes workspace_;
};

}  // namespace cubinet
