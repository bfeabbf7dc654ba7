// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_call.hpp"
#include "kernel_set.hpp"

#include <cubinet/loader/stream.hpp>

#include <memory>

namespace cubinet::bench {

// Every sequence at its full length.
Result<DecodeInputs> full_length_inputs(const DecodeProblem& problem);

// One problem, captured as a CUDA graph of 20 calls that read KV caches in turn: together at
// least 256 MB, several times an L2, so that no call finds its KV there.
class TimedDecode {
 public:
  static Result<TimedDecode> create(const std::shared_ptr<const Device>& device, Runtime& runtime,
                                    const DecodeProblem& problem, const DecodeInputs& inputs);
  // By events around several launches of the graph.
  Result<double> seconds_a_call() const;
  const DecodeCall& call() const { return *call_; }
  const DecodeKernels& kernels() const { return kernels_; }

 private:
  TimedDecode(std::unique_ptr<DecodeCall> call, DecodeKernels kernels, Stream stream, Graph graph,
              Event start, Event end)
      : call_(std::move(call)),
        kernels_(std::move(kernels)),
        stream_(std::move(stream)),
        graph_(std::move(graph)),
        start_(std::move(start)),
        end_(std::move(end)) {}

  std::unique_ptr<DecodeCall> call_;
  DecodeKernels kernels_;
  Stream stream_;
  Graph graph_;
  Event start_;
  Event end_;
};

// For scripts that compare: for each line on stdin one line of JSON on stdout, microseconds a call by
// problem.
Result<void> serve_decode_times(const Settings& settings);

}  // namespace cubinet::bench
