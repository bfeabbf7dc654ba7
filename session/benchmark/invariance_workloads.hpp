// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/prompt_parts.hpp>

#include <string>
#include <vector>

namespace cubinet {

// A run that computes rows of the first prompt again.
struct InvarianceWorkload {
  std::string stage;
  AttentionProblem problem;
  std::vector<PromptPart> parts;  // the first is of the first prompt, and its rows are compared
};

// The prompts that the runs compute parts of.
inline constexpr std::uint32_t kInvariancePrompts = 4;
// The tokens of a long chunk, and of a verification.
inline constexpr std::uint32_t kInvarianceChunk = 512;
inline constexpr std::uint32_t kInvarianceDraft = 8;

// Returns the problem in which only what rows' bits depend on and the sizes are set: decode of one
// token over paged KV, with pages of the default size if the KV given is not paged. Returns
// invalid_argument if kv_len is too small or the mask is not causal.
Result<AttentionProblem> invariance_problem(const AttentionProblem& given);

// Returns the runs whose rows are compared. The first computes the whole first prompt. The others
// compute it in chunks, over other pages, beside other prompts, by verification and by decode.
// `problem` is invariance_problem(). Runs in a batch have as many sequences as it, but at least 8
// and at most 64. Deterministic in the seed.
std::vector<InvarianceWorkload> invariance_workloads(const AttentionProblem& problem, std::uint64_t seed);

// Returns the problems whose times are compared: the whole prompt, its last chunk, verification and
// decode.
struct InvarianceTiming {
  std::string stage;
  AttentionProblem problem;
};
std::vector<InvarianceTiming> invariance_timings(const AttentionProblem& problem);

}  // namespace cubinet
