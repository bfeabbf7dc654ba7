// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "page_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

namespace serving_loop {

// The sizes that the model allocates memory and captures graphs for.
struct Bounds {
  std::uint32_t batch = 8;               // sequences of a step
  std::uint32_t step_tokens = 512;       // tokens of a step
  std::uint32_t sequence_tokens = 2048;  // tokens of a prompt and its answer
  std::uint32_t drafts = 3;              // drafted tokens of a sequence in a step
  std::uint32_t page_tokens = 16;
  std::uint32_t pages = 256;  // of all sequences

  std::uint32_t pages_per_sequence() const { return (sequence_tokens + page_tokens - 1) / page_tokens; }
};

// The choices of a server that must not affect any request's tokens. At most those of the Bounds.
struct Settings {
  std::string_view name = {};
  std::uint32_t seed = 0;  // of the order and the times of arrival
  std::uint32_t batch = 1;
  std::uint32_t step_tokens = 512;  // prompts are computed in chunks that fit
  std::uint32_t drafts = 0;         // 0: no speculation
  bool prefix_cache = false;
  bool generation_kernels = false;  // if false, the kernels for prompts compute every step
};

struct Request {
  std::vector<Token> prompt = {};   // at least one token
  std::uint32_t answer_tokens = 1;  // at least 1
};

// The record of a request: the prompt and the answer, and for each position the bits of the row of
// O that the model computed there. A row is empty if the prefix cache had the position.
struct Transcript {
  std::vector<Token> tokens;
  std::vector<std::vector<std::uint16_t>> rows;
};

// One run of the model: the new tokens of several sequences, and the arrays that kernels read.
struct Step {
  std::vector<Token> tokens;             // [new tokens], one sequence after the other
  std::vector<std::int32_t> q_offsets;   // [batch + 1]: the first new token of each sequence
  std::vector<std::int32_t> kv_lengths;  // [batch], with the new tokens; 0: no sequence
  std::vector<PageIndex> page_table;     // [batch, pages of a sequence]
  bool is_generation = false;            // if true, the graph with kernels for generation runs
};

// The scheduler of a server with continuous batching. Every step has the newest token of each
// sequence that is generating, with drafts of the next ones, and chunks of prompts as long as
// tokens are left.
class Scheduler {
 public:
  // `guesses` has, for each request, a prompt and an answer that may be wrong, as a small model
  // would draft it. It is not read without drafts. The arguments must outlive the scheduler.
  Scheduler(std::span<const Request> requests, std::span<const std::vector<Token>> guesses,
            const Bounds& bounds, const Settings& settings);

  void add(std::size_t request) { waiting_.push_back(request); }
  bool is_idle() const { return waiting_.empty() && active_.empty(); }

  // Returns the next step. It has no tokens only if the scheduler is idle.
  Step next_step();
  // Ends the step: `next` has the token that follows each of its tokens, `rows` its rows of O.
  void complete(const Step& step, std::span<const Token> next, std::span<const std::uint16_t> rows);

  std::span<const Transcript> transcripts() const { return transcripts_; }
  std::size_t cached_tokens() const { return cached_tokens_; }
  std::size_t drafted() const { return drafted_; }
  std::size_t accepted() const { return accepted_; }

 private:
  struct Sequence {
    std::size_t request = 0;
    std::vector<PageIndex> pages = {};
    std::size_t computed = 0;   // tokens whose K and V are in the cache
    std::size_t published = 0;  // pages that are published
  };
  // The tokens of a sequence that are known: the prompt, and the answer so far.
  std::vector<Token>& tokens_of(const Sequence& sequence) { return transcripts_[sequence.request].tokens; }
  std::size_t missing(const Sequence& sequence);
  void admit();
  void add_to_step(std::size_t index, Step& step);
  void accept(Sequence& sequence, std::span<const Token> tokens, std::span<const Token> next,
              std::span<const std::uint16_t> rows);
  void publish(Sequence& sequence);

  std::span<const Request> requests_;
  std::span<const std::vector<Token>> guesses_;
  Bounds bounds_;
  Settings settings_;
  PagePool pool_;
  std::deque<std::size_t> waiting_;  // requests
  std::vector<Sequence> active_;
  std::vector<std::size_t> in_step_;  // indices of `active_`, in the order of the step
  std::vector<Transcript> transcripts_;
  std::size_t cached_tokens_ = 0;
  std::size_t drafted_ = 0;
  std::size_t accepted_ = 0;
};

}  // namespace serving_loop
