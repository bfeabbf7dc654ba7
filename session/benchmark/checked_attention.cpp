// SPDX-License-Identifier: Apache-2.0
#include "benchmark/statistics.hpp"

#include <cubinet/attention/measure.hpp>
#include <cubinet/attention/reference_values.hpp>
#include <cubinet/base/units.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/session/checked_attention.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace cubinet {
namespace {

// The same limit as kLargestError, for e4m3. The softmax weights are also rounded to e4m3, by up to
// 1/16.
constexpr double kLargestErrorOfE4m3 = 7e-2;
// Tensor cores cut sums of e4m3 products to 14 bits after each product of 32 elements: of sums
// below 512, which are then scaled by 1 / sqrt(128), each of four products cuts up to 2^-4 * 0.09.
constexpr double kLargestLseErrorOfE4m3 = 2.3e-2;
// The same for latent attention: of sums below 256, which are then scaled by 1 / sqrt(192), each of
// 18 products cuts up to 2^-5 * 0.073.
constexpr double kLargestLseErrorOfLatentE4m3 = 4.1e-2;
// The operations that a CPU's cores compute in double precision within a few seconds.
constexpr double kMostCpuOperations = 4e10;

// Returns whether a run writes the log-sum-exp. Some kernels write it only if the problem has it.
bool writes_lse(const AttentionPlan& plan) {
  return plan.request.problem.lse || !plan.rules.lse_as_planned;
}

// Returns whether Q and the whole cache have the reference's bits. The append went to the first
// copy.
Result<bool> appended_as_reference(const AttentionProblem& problem, const AttentionInputs& inputs,
                                   const TensorBuffers& buffers) {
  CUBINET_TRY_ASSIGN(const AttentionInputs reference, append_reference(problem, inputs));
  CUBINET_TRY_ASSIGN(const auto appended, buffers.appended());
  const Bytes wanted[] = {packed_elements(reference.q, problem.data_type_q),
                          packed_elements(reference.k, problem.data_type_k),
                          packed_elements(reference.v, problem.data_type_v)};
  return std::equal(std::begin(wanted), std::end(wanted), appended.begin(),
                    [](const Bytes& part, const Bytes& all) {
                      return part.size() <= all.size() && std::equal(part.begin(), part.end(), all.begin());
                    });
}

}  // namespace

Result<AttentionInputs> inputs_in_memory(const AttentionProblem& problem,
                                         const std::vector<std::int32_t>& kv_lengths, std::uint64_t seed,
                                         unsigned threads, const std::vector<std::int32_t>& q_lengths) {
  try {
    return make_attention_inputs(problem, kv_lengths, seed, threads, q_lengths);
  } catch (const std::bad_alloc&) {
    return Error{
        ErrorCode::unavailable,
        fmt::format("the memory does not suffice: K and V alone take {}",
                    format_bytes(static_cast<std::uint64_t>(attention_work(problem, kv_lengths).kv_bytes))),
        "ask for a smaller batch or fewer tokens"};
  }
}

Result<AttentionOutputs> reference_of(Runtime& runtime, const std::shared_ptr<const Device>& device,
                                      const AttentionProblem& problem, const AttentionInputs& inputs,
                                      unsigned threads) {
  const double operations = attention_work(problem, inputs.kv_lengths, inputs.q_lengths).operations;
  if (operations > kMostCpuOperations && has_device_reference(problem))
    return attention_reference_on(runtime, device, problem, inputs);
  return attention_reference(problem, inputs, threads);
}

bool AttentionVerdict::correct() const {
  const bool within_a_step = narrow_output && error.worst_steps <= 1;
  return appended && (error.worst_row <= allowed || within_a_step) && error.worst_lse <= allowed_lse;
}

AttentionTensors run_tensors(const BoundAttention& attention, const TensorBuffers& buffers,
                             std::uint32_t copy) {
  AttentionTensors tensors = buffers.tensors(copy);
  if (!writes_lse(attention.plan())) tensors.lse = {};
  return tensors;
}

AttentionTensors CheckedAttention::tensors(std::uint32_t copy) const {
  return run_tensors(attention, buffers, copy);
}

Result<AttentionVerdict> verdict_of(const std::shared_ptr<const Device>& device,
                                    const BoundAttention& attention, const TensorBuffers& buffers,
                                    const AttentionInputs& inputs, const AttentionOutputs& reference) {
  const AttentionTensors tensors = run_tensors(attention, buffers, 0);
  CUBINET_TRY(attention.check(tensors));
  return verdict_of_run(device, attention.plan().request.problem, writes_lse(attention.plan()), buffers,
                        inputs, reference, [&](CUstream stream) { return attention.run(tensors, stream); });
}

Result<AttentionVerdict> verdict_of_run(const std::shared_ptr<const Device>& device,
                                        const AttentionProblem& problem, bool writes_lse,
                                        const TensorBuffers& buffers, const AttentionInputs& inputs,
                                        const AttentionOutputs& reference,
                                        const Callback<Result<void>(CUstream)>& run) {
  CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(device));
  CUBINET_TRY(run(stream.handle()));
  CUBINET_TRY(stream.synchronize());
  CUBINET_TRY_ASSIGN(const Bytes o, buffers.output());
  std::vector<float> lse;
  if (writes_lse) {
    CUBINET_TRY_ASSIGN(lse, buffers.lse());
  }
  AttentionVerdict verdict;
  verdict.narrow_output = problem.data_type_o == DataType::e4m3;
  const bool narrow = problem.data_type_q == DataType::e4m3 || verdict.narrow_output;
  if (narrow) verdict.allowed = kLargestErrorOfE4m3;
  if (problem.data_type_q == DataType::e4m3)
    verdict.allowed_lse = problem.is_mla_generation() ? kLargestLseErrorOfLatentE4m3 : kLargestLseErrorOfE4m3;
  if (problem.append) {
    CUBINET_TRY_ASSIGN(verdict.appended, appended_as_reference(problem, inputs, buffers));
  }
  CUBINET_TRY_ASSIGN(verdict.error, compare_attention(problem, reference, o, lse));
  return verdict;
}

Result<CheckedAttention> run_checked(Runtime& runtime, const std::shared_ptr<const Device>& device,
                                     const AttentionPlan& plan, const AttentionInputs& inputs,
                                     const AttentionOutputs& reference, std::uint32_t copies,
                                     const WorkspaceSizes& least) {
  CUBINET_TRY_ASSIGN(BoundAttention attention, BoundAttention::bind(runtime, plan, device->ordinal()));
  WorkspaceSizes workspace = attention.plan().workspace;
  workspace.scratch_bytes = std::max(workspace.scratch_bytes, least.scratch_bytes);
  workspace.counter_bytes = std::max(workspace.counter_bytes, least.counter_bytes);
  CUBINET_TRY_ASSIGN(TensorBuffers buffers, TensorBuffers::create(device, attention.plan().request.problem,
                                                                  inputs, workspace, copies));
  CheckedAttention checked{std::move(attention), std::move(buffers), {}};
  CUBINET_TRY_ASSIGN(checked.verdict,
                     verdict_of(device, checked.attention, checked.buffers, inputs, reference));
  return checked;
}

Result<double> median_replay(const std::shared_ptr<const Device>& device, int replays,
                             const Callback<Result<void>(std::uint32_t, CUstream)>& record) {
  CUBINET_TRY_ASSIGN(const TimedRuns runs, TimedRuns::capture(device, kRunsOfGraph, record));
  std::vector<double> seconds;
  for (int i = 0; i < replays; ++i) {
    CUBINET_TRY_ASSIGN(seconds.emplace_back(), runs.seconds_a_run(1));
  }
  return median_of(std::move(seconds));
}

}  // namespace cubinet
