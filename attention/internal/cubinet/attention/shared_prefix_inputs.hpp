// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>
#include <cubinet/attention/shared_prefix.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace cubinet {

// The tensors of attention over shared prefixes in host memory. K and V of both parts are in the
// pool of `own`, those of the prefixes first.
struct SharedPrefixInputs {
  AttentionProblem prefix_problem;  // of the query tokens of each group over the group's prefix
  AttentionMerge::Problem merge;
  AttentionInputs prefix;  // with the rotated Q of an append, for the reference
  AttentionInputs own;
  std::vector<std::int32_t> group_offsets;  // [groups + 1]
};

// The lengths of SharedPrefixInputs.
struct SharedPrefixLengths {
  std::vector<std::int32_t> prefixes;          // [groups]
  std::vector<std::int32_t> own;               // [batch]
  std::vector<std::uint32_t> group_sequences;  // [groups]; their sum is the batch
  std::vector<std::int32_t> q_lengths = {};    // as make_attention_inputs() takes them
};

// Returns random inputs of both parts, as make_attention_inputs() makes them, and its errors.
// REQUIRES: check_shared_prefix(problem) and check_problem(problem.own) hold, and lengths of the
// problem.
Result<SharedPrefixInputs> make_shared_prefix_inputs(const SharedPrefixProblem& problem,
                                                     const SharedPrefixLengths& lengths, std::uint64_t seed,
                                                     unsigned threads = 0);

// SharedPrefixInputs on a device, with outputs and a workspace.
struct SharedPrefixBuffers {
  TensorBuffers own;
  DeviceBuffer page_tables;  // of the prefixes, for each copy of the pool
  DeviceBuffer lengths;
  DeviceBuffer offsets;

  static Result<SharedPrefixBuffers> create(const std::shared_ptr<const Device>& device,
                                            const SharedPrefixAttention& attention,
                                            const SharedPrefixInputs& inputs, std::uint32_t copies = 1);
  // Returns the tensors of a run, with the log-sum-exp if `lse`. REQUIRES: copy < own.copies().
  SharedPrefixAttention::Tensors tensors(bool lse, std::uint32_t copy = 0) const;
};

}  // namespace cubinet
