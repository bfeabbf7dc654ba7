// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/measure.hpp>
#include <cubinet/attention/shared_prefix_inputs.hpp>
#include <cubinet/session/checked_attention.hpp>

namespace cubinet {

// A batch whose sequences all begin with the same tokens, its random inputs, and attention of these
// in double precision.
struct SharedPrefixCase {
  SharedPrefixProblem problem;
  SharedPrefixInputs inputs;
  AttentionOutputs reference;
  AttentionWork work;
};

// Returns the problem of which `prefix` tokens, which kv_len and kv_lengths count, are the same in
// all sequences. An append with RoPE takes positions. The message of invalid_argument names the
// values. A problem that no kernel serves (check_shared_prefix) is returned, too.
Result<SharedPrefixProblem> one_prefix_problem(AttentionProblem whole, std::uint32_t prefix);

// Returns the problem without lengths, as a plan for a CUDA graph has it.
SharedPrefixProblem without_lengths(SharedPrefixProblem problem);

// Makes the inputs and the reference. `own_lengths` do not count the prefix. Uses one thread per
// core if `threads` is 0.
Result<SharedPrefixCase> make_shared_prefix_case(Runtime& runtime,
                                                 const std::shared_ptr<const Device>& device,
                                                 SharedPrefixProblem problem,
                                                 const std::vector<std::int32_t>& own_lengths,
                                                 std::uint64_t seed, unsigned threads,
                                                 const std::vector<std::int32_t>& q_lengths = {});

// A plan that was bound and run once, as CheckedAttention.
struct CheckedSharedPrefix {
  SharedPrefixAttention attention;
  SharedPrefixBuffers buffers;
  AttentionVerdict verdict;

  SharedPrefixAttention::Tensors tensors(std::uint32_t copy = 0) const;
};

Result<CheckedSharedPrefix> run_checked(Runtime& runtime, const std::shared_ptr<const Device>& device,
                                        const SharedPrefixPlan& plan, const SharedPrefixCase& given,
                                        std::uint32_t copies = 1);

}  // namespace cubinet
