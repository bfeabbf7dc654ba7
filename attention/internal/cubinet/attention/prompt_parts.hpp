// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Runs that compute parts of the same prompts, whose rows have equal bits with invariant numerics.
namespace cubinet {

// Whole prompts of equal length.
struct Prompts {
  AttentionProblem problem;  // prefill of contiguous KV; q_len is kv_len
  AttentionInputs inputs;

  std::size_t length() const { return problem.kv_len; }
};

// Returns random prompts of kv_len tokens, `problem.batch` of them. Errors of
// make_attention_inputs().
Result<Prompts> make_prompts(AttentionProblem problem, std::uint64_t seed, unsigned threads = 0);

// Query tokens [begin, end) of a prompt. Its KV ends with them. REQUIRES: begin < end <= length().
struct PromptPart {
  std::size_t prompt = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Returns the inputs of a run whose sequences are these parts, in order. Pages are in shuffled
// order; if `shares_pages`, parts of one prompt have the same ones. Tokens that no row of a part
// sees, and the rest of the pool, are NaN. Deterministic in the seed. REQUIRES: `problem` has paged
// KV, the heads and head dims of the prompts, 16-bit types, one sequence for each part, and kv_len
// and q_len that the parts fit.
AttentionInputs inputs_of_parts(const Prompts& prompts, const AttentionProblem& problem,
                                std::span<const PromptPart> parts, bool shares_pages, std::uint64_t seed);

// The outputs of a run as a kernel stores them.
struct OutputBits {
  Bytes o;
  std::vector<float> lse;  // empty: not compared
};

// Returns the number of rows, one for each query head of each token of the parts, whose bits are
// those of the whole prompts. REQUIRES: `whole` begins with the rows of all prompts that the parts
// name, and `outputs` with those of the parts; both have log-sum-exps, or one of them has none.
std::size_t equal_rows(const Prompts& prompts, const OutputBits& whole, std::span<const PromptPart> parts,
                       const OutputBits& outputs);
// Returns the number of rows of the parts.
std::size_t row_count(const Prompts& prompts, std::span<const PromptPart> parts);

}  // namespace cubinet
