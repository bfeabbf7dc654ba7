// SPDX-License-Identifier: Apache-2.0
#include "decode_timing.hpp"

#include <cubinet/attention/reference_values.hpp>

namespace cubinet::bench {
namespace {

constexpr std::uint32_t kCallsOfGraph = 20;
constexpr int kGraphLaunches = 5;
constexpr std::uint64_t kTimingSeed = 42;

}  // namespace

Result<AttentionInputs> full_length_inputs(const AttentionProblem& problem) {
  return make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::uniform), kTimingSeed);
}

Result<TimedDecode> TimedDecode::create(const std::shared_ptr<const Device>& device, Runtime& runtime,
                                        const AttentionPlan& plan, const AttentionInputs& inputs) {
  const AttentionProblem& problem = plan.request.problem;
  CUBINET_TRY_ASSIGN(BoundAttention attention, BoundAttention::bind(runtime, plan, device->ordinal()));
  const double kv_bytes = attention_work(problem, inputs.kv_lengths, inputs.q_lengths).kv_bytes;
  CUBINET_TRY_ASSIGN(TensorBuffers buffers,
                     TensorBuffers::create(device, problem, inputs, attention.plan().workspace,
                                           cold_copies(kv_bytes, kCallsOfGraph)));
  const auto record = [&](std::uint32_t run, CUstream stream) {
    return attention.run(buffers.tensors(run % buffers.copies()), stream);
  };
  CUBINET_TRY_ASSIGN(TimedRuns runs, TimedRuns::capture(device, kCallsOfGraph, record));
  return TimedDecode(std::move(attention), std::move(buffers), std::move(runs));
}

Result<double> TimedDecode::seconds_a_call() const {
  return runs_.seconds_a_run(kGraphLaunches);
}

}  // namespace cubinet::bench
