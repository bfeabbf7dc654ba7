// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_problems.hpp"
#include "kernel_set.hpp"

#include <cubinet/attention/measure.hpp>

#include <memory>

namespace cubinet::bench {

// Returns inputs with every sequence at its full length.
Result<AttentionInputs> full_length_inputs(const AttentionProblem& problem);

// Runs of one problem that read several KV caches in turn, so that none finds its data in the L2.
class TimedDecode {
 public:
  // Creates the runs. REQUIRES: inputs of the plan's problem.
  static Result<TimedDecode> create(const std::shared_ptr<const Device>& device, Runtime& runtime,
                                    const AttentionPlan& plan, const AttentionInputs& inputs);
  Result<double> seconds_a_call() const;
  const BoundAttention& attention() const { return attention_; }
  const TensorBuffers& buffers() const { return buffers_; }

 private:
  TimedDecode(BoundAttention attention, TensorBuffers buffers, TimedRuns runs)
      : attention_(std::move(attention)), buffers_(std::move(buffers)), runs_(std::move(runs)) {}

  BoundAttention attention_;
  TensorBuffers buffers_;
  TimedRuns runs_;
};

}  // namespace cubinet::bench
