// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "serving_loop/loop.hpp"

#include <random>
#include <vector>

namespace serving_loop {

// A model on the host. It keeps the new tokens of a step in pages, and hashes all tokens that a row
// sees, as it finds them in the pages, to the row and to the next token. So results are equal only
// if each step has the right tokens, lengths and pages. A row also has `batch_error` times the
// number of sequences of its step.
class PagedModel final : public Model {
 public:
  explicit PagedModel(const Bounds& bounds, std::uint16_t batch_error = 0)
      : bounds_(bounds),
        cache_(std::size_t{bounds.pages} * bounds.page_tokens, -1),
        batch_error_(batch_error) {}

  std::size_t row_elements() const override { return 2; }

  cubinet::Result<void> run(const Step& step, std::span<Token> next, std::span<std::uint16_t> rows) override {
    std::uint16_t sequences = 0;
    for (std::size_t slot = 0; slot < bounds_.batch; ++slot)
      if (step.kv_lengths[slot] != 0) ++sequences;
    const auto each_new_token = [&](const auto& visit) {
      for (std::size_t slot = 0; slot < bounds_.batch; ++slot) {
        const auto length = static_cast<std::size_t>(step.kv_lengths[slot]);
        const auto end = static_cast<std::size_t>(step.q_offsets[slot + 1]);
        for (auto i = static_cast<std::size_t>(step.q_offsets[slot]); i < end; ++i)
          visit(slot, i, length - (end - i));
      }
    };
    each_new_token([&](std::size_t slot, std::size_t i, std::size_t position) {
      at(step, slot, position) = step.tokens[i];
    });
    each_new_token([&](std::size_t slot, std::size_t i, std::size_t position) {
      std::uint32_t hash = 1;
      for (std::size_t seen = 0; seen <= position; ++seen) {
        hash = (hash ^ static_cast<std::uint32_t>(at(step, slot, seen))) * 0x9e3779b1U;
        hash ^= hash >> 15U;
      }
      next[i] = static_cast<Token>(hash % 50);
      rows[2 * i] = static_cast<std::uint16_t>(hash);
      rows[2 * i + 1] = static_cast<std::uint16_t>((hash >> 16U) + batch_error_ * sequences);
    });
    most_tokens = std::max(most_tokens, step.tokens.size());
    most_sequences = std::max<std::size_t>(most_sequences, sequences);
    return {};
  }

  std::size_t most_tokens = 0;  // of a step
  std::size_t most_sequences = 0;

 private:
  Token& at(const Step& step, std::size_t slot, std::size_t position) {
    const PageIndex page =
        step.page_table[slot * bounds_.pages_per_sequence() + position / bounds_.page_tokens];
    return cache_.at(static_cast<std::size_t>(page) * bounds_.page_tokens + position % bounds_.page_tokens);
  }

  Bounds bounds_;
  std::vector<Token> cache_;
  std::uint16_t batch_error_;
};

inline constexpr Bounds kSmallBounds{
    .batch = 4, .step_tokens = 64, .sequence_tokens = 128, .drafts = 3, .page_tokens = 8, .pages = 40};

// Returns requests that exceed the pages together. Half of them begin with the same 35 tokens.
inline std::vector<Request> small_requests() {
  std::mt19937 random(3);
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 16; ++i) {
    Request request{.answer_tokens = 1 + static_cast<std::uint32_t>(random() % 30)};
    for (Token token = 0; i % 2 == 0 && token < 35; ++token)
      request.prompt.push_back(token);
    for (auto count = 1 + random() % 50; count != 0; --count)
      request.prompt.push_back(static_cast<Token>(random() % 50));
    requests.push_back(std::move(request));
  }
  return requests;
}

// Returns the tokens of the transcripts, every third one changed.
inline std::vector<std::vector<Token>> wrong_guesses(std::span<const Transcript> transcripts) {
  std::vector<std::vector<Token>> guesses;
  for (const Transcript& transcript : transcripts) {
    guesses.push_back(transcript.tokens);
    for (std::size_t i = 0; i < guesses.back().size(); i += 3)
      guesses.back()[i] = (guesses.back()[i] + 1) % 50;
  }
  return guesses;
}

}  // namespace serving_loop
