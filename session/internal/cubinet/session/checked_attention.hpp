// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/reference.hpp>
#include <cubinet/base/callback.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace cubinet {

// Makes random inputs in the host's memory. problem.kv_lengths may be empty. `q_lengths` are the
// query tokens of each sequence; empty: as make_attention_inputs() chooses them. Uses one thread
// per core if `threads` is 0. Returns unavailable if the memory does not suffice.
Result<AttentionInputs> inputs_in_memory(const AttentionProblem& problem,
                                         const std::vector<std::int32_t>& kv_lengths, std::uint64_t seed,
                                         unsigned threads, const std::vector<std::int32_t>& q_lengths = {});

// Returns attention of the inputs in double precision: by the CPU, or by the device if the CPU
// would take long and the device can. Uses one thread per core if `threads` is 0.
Result<AttentionOutputs> reference_of(Runtime& runtime, const std::shared_ptr<const Device>& device,
                                      const AttentionProblem& problem, const AttentionInputs& inputs,
                                      unsigned threads);

// The allowed ||o - ref|| / ||ref|| of a row. The rounding of bf16 inputs of the tensor cores
// causes 3e-3.
inline constexpr double kLargestError = 1e-2;

// The error of a run against attention in double precision, and the largest allowed error.
struct AttentionVerdict {
  AttentionDeviation error;
  double allowed = kLargestError;
  double allowed_lse = kLargestError;  // of the log-sum-exp
  // If true, the output is e4m3. The values of a row may then be below the smallest e4m3 number, so
  // an error of one step is allowed.
  bool narrow_output = false;
  bool appended = true;  // if false, the append did not write the reference's bits

  bool correct() const;
};

// A problem that was bound and run once on a device, with its inputs there.
struct CheckedAttention {
  BoundAttention attention;
  TensorBuffers buffers;
  AttentionVerdict verdict;

  // Returns the tensors of a copy of the KV cache, without the LSE if runs do not write it.
  AttentionTensors tensors(std::uint32_t copy = 0) const;
};

// Binds the plan, runs it and compares the output with the reference of these inputs. The workspace
// has at least `least` bytes, for other plans of the problem that run with the same buffers.
Result<CheckedAttention> run_checked(Runtime& runtime, const std::shared_ptr<const Device>& device,
                                     const AttentionPlan& plan, const AttentionInputs& inputs,
                                     const AttentionOutputs& reference, std::uint32_t copies = 1,
                                     const WorkspaceSizes& least = {});

// Returns the tensors of a copy of the KV cache for a bound plan, without the LSE if its runs do
// not write it.
AttentionTensors run_tensors(const BoundAttention& attention, const TensorBuffers& buffers,
                             std::uint32_t copy);
// Runs a bound plan once and compares the output with the reference of these inputs.
Result<AttentionVerdict> verdict_of(const std::shared_ptr<const Device>& device,
                                    const BoundAttention& attention, const TensorBuffers& buffers,
                                    const AttentionInputs& inputs, const AttentionOutputs& reference);
// Does the same with any run that reads and writes the buffers. If `writes_lse`, the log-sum-exps
// are compared, too.
Result<AttentionVerdict> verdict_of_run(const std::shared_ptr<const Device>& device,
                                        const AttentionProblem& problem, bool writes_lse,
                                        const TensorBuffers& buffers, const AttentionInputs& inputs,
                                        const AttentionOutputs& reference,
                                        const Callback<Result<void>(CUstream)>& run);

// Returns the time of one run: the median over `replays` of a CUDA graph of kRunsOfGraph runs.
inline constexpr std::uint32_t kRunsOfGraph = 10;
Result<double> median_replay(const std::shared_ptr<const Device>& device, int replays,
                             const Callback<Result<void>(std::uint32_t, CUstream)>& record);

}  // namespace cubinet
