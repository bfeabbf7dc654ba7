// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/reference.hpp>
#include <cubinet/base/callback.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cubinet::cli {

// In the host's memory, which the problem may ask too much of. problem.kv_lengths may be left out.
Result<AttentionInputs> inputs_in_memory(const Context& context, const AttentionProblem& problem,
                                         const std::vector<std::int32_t>& kv_lengths, std::uint64_t seed);

// ||o - ref|| / ||ref|| of a row: the rounding of what goes into the tensor cores leaves some 3e-3 of bf16.
inline constexpr double kLargestError = 1e-2;

// How far a run was from attention in double precision, and how far it may be.
struct AttentionVerdict {
  AttentionDeviation error;
  double allowed = kLargestError;
  bool narrow_output = false;  // e4m3: a row may lie below its smallest number, so a step is allowed
  bool appended = true;        // what the append wrote, where there is one, is the reference's to the bit

  bool correct() const;
};

// A problem that was planned, bound and run once on a device, with its inputs there.
struct CheckedAttention {
  BoundAttention attention;
  TensorBuffers buffers;
  AttentionVerdict verdict;

  // Of a copy of the KV cache; without the LSE where a run does not write it.
  AttentionTensors tensors(std::uint32_t copy = 0) const;
};

// Against what the reference gives for these inputs.
Result<CheckedAttention> run_checked(Runtime& runtime, const std::shared_ptr<const Device>& device,
                                     const AttentionPlan& plan, const AttentionInputs& inputs,
                                     const AttentionOutputs& reference, std::uint32_t copies = 1);

// The median time of one of kRunsOfGraph runs that follow one another in a CUDA graph, of so many replays.
inline constexpr std::uint32_t kRunsOfGraph = 10;
Result<double> median_replay(const std::shared_ptr<const Device>& device, int replays,
                             const Callback<Result<void>(std::uint32_t, CUstream)>& record);

}  // namespace cubinet::cli
