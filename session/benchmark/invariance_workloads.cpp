// SPDX-License-Identifier: Apache-2.0
#include "benchmark/invariance_workloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

namespace cubinet {
namespace {

constexpr std::size_t kMostParts = 8;          // of a stage, evenly distributed over the prompt
constexpr std::uint32_t kLongestBeside = 300;  // query tokens of another prompt
constexpr std::uint32_t kLeastBatch = 8;       // of runs in a batch
constexpr std::uint32_t kMostBatch = 64;
constexpr std::uint32_t kOddChunk = 1000;  // no multiple of a tile or a segment

// Returns at most kMostParts of the ends `first`, first + step, … and `last`. The last one is among
// them.
std::vector<std::size_t> spread_ends(std::size_t first, std::size_t step, std::size_t last) {
  std::vector<std::size_t> all;
  for (std::size_t end = first; end < last; end += step)
    all.push_back(end);
  all.push_back(last);
  if (all.size() <= kMostParts) return all;
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < kMostParts; ++i)
    ends.push_back(all[i * (all.size() - 1) / (kMostParts - 1)]);
  return ends;
}

// Makes the workloads of one problem.
class Workloads {
 public:
  Workloads(const AttentionProblem& problem, std::uint64_t seed) : problem_(problem) {
    std::mt19937_64 bits(seed);
    for (std::uint32_t i = 0; i + 1 < std::clamp(problem.batch, kLeastBatch, kMostBatch); ++i)
      others_.push_back({1 + i % (kInvariancePrompts - 1), 0,
                         kInvarianceDraft + bits() % (problem.kv_len - kInvarianceDraft + 1)});
  }

  std::vector<InvarianceWorkload> all() && {
    const std::size_t length = problem_.kv_len;
    add("whole prompt", true, {{0, 0, length}});
    for (const std::uint32_t chunk : {kInvarianceChunk, kOddChunk}) {
      if (chunk < length) add_chunks(fmt::format("chunks of {}", chunk), chunk, problem_.tokens_per_page);
    }
    add_chunks("other pages", 700, problem_.tokens_per_page == 16 ? 64 : 16);
    add("beside other prompts", true, beside({0, 0, length}, kLongestBeside));
    for (const std::size_t end : spread_ends(kInvarianceDraft, 500, length)) {
      const PromptPart part{0, end - kInvarianceDraft, end};
      add("verification", !generates(), {part});
      add("verification in a batch", !generates(), beside(part, kInvarianceDraft));
    }
    for (const std::size_t end : decode_ends()) {
      add("decode", !generates(), {{0, end - 1, end}});
      add("decode in a batch", !generates(), beside({0, end - 1, end}, 1));
    }
    return std::move(made_);
  }

 private:
  // Head dims of unprojected latent attention are those of prefill alone.
  bool generates() const { return problem_.head_dim_qk == problem_.head_dim_v; }

  // Returns the ends beside the borders of segments, and of the prompt.
  std::set<std::size_t> decode_ends() const {
    std::set<std::size_t> ends;
    for (const std::size_t end : {1U, 100U, 511U, 512U, 513U, 1025U, problem_.kv_len})
      ends.insert(std::min<std::size_t>(end, problem_.kv_len));
    return ends;
  }

  // Returns a part and the last tokens, at most `most`, of each other sequence.
  std::vector<PromptPart> beside(const PromptPart& part, std::size_t most) const {
    std::vector<PromptPart> parts = {part};
    for (const PromptPart& other : others_)
      parts.push_back({other.prompt, other.end - std::min(other.end, most), other.end});
    return parts;
  }

  void add_chunks(const std::string& stage, std::size_t chunk, std::uint32_t page_size) {
    for (const std::size_t end : spread_ends(chunk, chunk, problem_.kv_len)) {
      const std::size_t begin = (end - 1) / chunk * chunk;
      add(stage, true, {{0, begin, end}});
      made_.back().problem.tokens_per_page = page_size;
    }
  }

  void add(std::string stage, bool prefill, std::vector<PromptPart> parts) {
    AttentionProblem problem = problem_;
    problem.prefill = prefill;
    problem.batch = static_cast<std::uint32_t>(parts.size());
    problem.lse = true;
    problem.q_len = problem.kv_len = 1;
    for (const PromptPart& part : parts) {
      const auto tokens = static_cast<std::uint32_t>(part.end - part.begin);
      problem.ragged_q = problem.ragged_q || (&part != &parts.front() && tokens != problem.q_len);
      problem.q_len = std::max(problem.q_len, tokens);
      problem.kv_len = std::max(problem.kv_len, static_cast<std::uint32_t>(part.end));
    }
    made_.push_back({std::move(stage), std::move(problem), std::move(parts)});
  }

  const AttentionProblem& problem_;
  std::vector<PromptPart> others_;  // the other sequences of a batch, whole
  std::vector<InvarianceWorkload> made_;
};

}  // namespace

Result<AttentionProblem> invariance_problem(const AttentionProblem& given) {
  const auto refused = [](const std::string& why) {
    return Error{ErrorCode::invalid_argument, "a comparison of bits needs " + why};
  };
  if (given.kv_len < 16) return refused("`AttentionProblem::kv_len` of at least 16");
  if (given.mask != AttentionMask::causal)
    return refused("a causal `AttentionProblem::mask`, because chunks see fewer tokens with other masks");
  AttentionProblem problem = given;
  problem.prefill = problem.ragged_q = problem.lse = false;
  problem.q_len = 1;
  if (problem.layout != QkvLayout::paged_kv) problem.tokens_per_page = AttentionProblem{}.tokens_per_page;
  problem.layout = QkvLayout::paged_kv;
  problem.separate_page_tables = false;
  problem.numerics = AttentionNumerics::fast;
  problem.append.reset();
  problem.kv_lengths.clear();
  CUBINET_TRY(check_problem(problem));
  return problem;
}

std::vector<InvarianceWorkload> invariance_workloads(const AttentionProblem& problem, std::uint64_t seed) {
  return Workloads(problem, seed).all();
}

std::vector<InvarianceTiming> invariance_timings(const AttentionProblem& problem) {
  std::vector<InvarianceTiming> made;
  const auto add = [&](std::string stage, bool prefill, std::uint32_t batch, std::uint32_t q_len) {
    AttentionProblem timed = problem;
    timed.prefill = prefill;
    timed.batch = batch;
    timed.q_len = q_len;
    made.push_back({std::move(stage), std::move(timed)});
  };
  add("whole prompt", true, 1, problem.kv_len);
  if (problem.kv_len > kInvarianceChunk)
    add(fmt::format("last chunk of {} tokens", kInvarianceChunk), true, 1, kInvarianceChunk);
  if (problem.head_dim_qk != problem.head_dim_v) return made;
  add(fmt::format("verification of {} tokens", kInvarianceDraft), false, problem.batch, kInvarianceDraft);
  add("decode step", false, problem.batch, 1);
  return made;
}

}  // namespace cubinet
