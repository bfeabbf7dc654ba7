// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_problems.hpp"
#include "kernel_set.hpp"

#include <cubinet/loader/stream.hpp>

#include <memory>

namespace cubinet::bench {

// Every sequence at its full length.
Result<AttentionInputs> full_length_inputs(const AttentionProblem& problem);

// One problem, captured as a CUDA graph of 20 runs that read KV caches in turn: together at
// least 256 MB, several times an L2, so that no run finds its KV there.
class TimedDecode {
 public:
  // REQUIRES: inputs of the plan's problem.
  static Result<TimedDecode> create(const std::shared_ptr<const Device>& device, Runtime& runtime,
                                    const AttentionPlan& plan, const AttentionInputs& inputs);
  // By events around several launches of the graph.
  Result<double> seconds_a_call() const;
  const BoundAttention& attention() const { return attention_; }
  const TensorBuffers& buffers() const { return buffers_; }

 private:
  TimedDecode(BoundAttention attention, TensorBuffers buffers, Stream stream, Graph graph, Event start,
              Event end)
      : attention_(std::move(attention)),
        buffers_(std::move(buffers)),
        stream_(std::move(stream)),
        graph_(std::move(graph)),
        start_(std::move(start)),
        end_(std::move(end)) {}

  BoundAttention attention_;
  TensorBuffers buffers_;
  Stream stream_;
  Graph graph_;
  Event start_;
  Event end_;
};

// For scripts that compare: for each line on stdin one line of JSON on stdout, microseconds a call by
// problem.
Result<void> serve_decode_times(const Settings& settings);

}  // namespace cubinet::bench
