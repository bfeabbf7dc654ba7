// SPDX-License-Identifier: Apache-2.0
#include "scheduler.hpp"

#include <algorithm>

namespace serving_loop {

Scheduler::Scheduler(std::span<const Request> requests, std::span<const std::vector<Token>> guesses,
                     const Bounds& bounds, const Settings& settings)
    : requests_(requests),
      guesses_(guesses),
      bounds_(bounds),
      settings_(settings),
      pool_(bounds.pages, bounds.page_tokens),
      transcripts_(requests.size()) {}

// Returns the tokens of the answer that are not generated yet.
std::size_t Scheduler::missing(const Sequence& sequence) {
  const Request& request = requests_[sequence.request];
  return request.prompt.size() + request.answer_tokens - tokens_of(sequence).size();
}

// Starts waiting requests, in the order of arrival, while there are pages for all their tokens.
void Scheduler::admit() {
  while (!waiting_.empty() && active_.size() < settings_.batch) {
    const Request& request = requests_[waiting_.front()];
    const std::size_t tokens = request.prompt.size() + request.answer_tokens;
    const std::size_t pages = (tokens + bounds_.page_tokens - 1) / bounds_.page_tokens;
    Sequence sequence{.request = waiting_.front()};
    // The last token of the prompt is always computed, because its row of O gives the next token.
    if (settings_.prefix_cache)
      sequence.pages = pool_.share(std::span(request.prompt).first(request.prompt.size() - 1));
    if (pages - sequence.pages.size() > pool_.unused()) return pool_.release(sequence.pages);
    sequence.published = sequence.pages.size();
    sequence.computed = sequence.published * bounds_.page_tokens;
    cached_tokens_ += sequence.computed;
    while (sequence.pages.size() < pages)
      sequence.pages.push_back(pool_.take());
    tokens_of(sequence) = request.prompt;
    transcripts_[sequence.request].rows.resize(tokens);
    active_.push_back(std::move(sequence));
    waiting_.pop_front();
  }
}

Step Scheduler::next_step() {
  admit();
  Step step;
  step.q_offsets.resize(bounds_.batch + 1);
  step.kv_lengths.resize(bounds_.batch);
  step.page_table.assign(std::size_t{bounds_.batch} * bounds_.pages_per_sequence(), -1);
  step.is_generation = settings_.generation_kernels;
  in_step_.clear();
  // First the sequences with one token to compute, which would otherwise wait for prompts.
  for (const bool is_prompt : {false, true}) {
    for (std::size_t i = 0; i < active_.size(); ++i)
      if ((tokens_of(active_[i]).size() - active_[i].computed > 1) == is_prompt) add_to_step(i, step);
  }
  return step;
}

void Scheduler::add_to_step(std::size_t index, Step& step) {
  const Sequence& sequence = active_[index];
  const std::vector<Token>& known = tokens_of(sequence);
  const std::size_t room = settings_.step_tokens - step.tokens.size();
  const std::size_t chunk = std::min(known.size() - sequence.computed, room);
  if (chunk == 0) return;
  const auto first = known.begin() + static_cast<long>(sequence.computed);
  step.tokens.insert(step.tokens.end(), first, first + static_cast<long>(chunk));
  // Drafts follow the newest token of an answer. The last missing token needs none.
  std::size_t drafts = 0;
  if (known.size() - sequence.computed == 1)
    drafts = std::min({std::size_t{settings_.drafts}, room - 1, missing(sequence) - 1});
  for (std::size_t i = 0; i < drafts; ++i)
    step.tokens.push_back(guesses_[sequence.request][known.size() + i]);
  drafted_ += drafts;

  const std::size_t slot = in_step_.size();
  in_step_.push_back(index);
  step.kv_lengths[slot] = static_cast<std::int32_t>(sequence.computed + chunk + drafts);
  std::copy(sequence.pages.begin(), sequence.pages.end(),
            step.page_table.begin() + static_cast<long>(slot * bounds_.pages_per_sequence()));
  // Slots without a sequence have no tokens: they begin where the last sequence ends.
  std::fill(step.q_offsets.begin() + static_cast<long>(slot) + 1, step.q_offsets.end(),
            static_cast<std::int32_t>(step.tokens.size()));
  step.is_generation = step.is_generation && chunk + drafts <= 1 + bounds_.drafts;
}

void Scheduler::complete(const Step& step, std::span<const Token> next, std::span<const std::uint16_t> rows) {
  const std::size_t columns = step.tokens.empty() ? 0 : rows.size() / step.tokens.size();
  for (std::size_t slot = 0; slot < in_step_.size(); ++slot) {
    const auto first = static_cast<std::size_t>(step.q_offsets[slot]);
    const std::size_t count = static_cast<std::size_t>(step.q_offsets[slot + 1]) - first;
    Sequence& sequence = active_[in_step_[slot]];
    accept(sequence, std::span(step.tokens).subspan(first, count), next.subspan(first, count),
           rows.subspan(first * columns, count * columns));
    publish(sequence);
    if (missing(sequence) == 0) pool_.release(sequence.pages);
  }
  std::erase_if(active_, [this](const Sequence& sequence) { return missing(sequence) == 0; });
}

// Takes over the rows of a sequence up to the first draft that is not the model's own next token. K
// and V of later drafts stay in the cache behind the sequence's end, where the next step overwrites
// them.
void Scheduler::accept(Sequence& sequence, std::span<const Token> tokens, std::span<const Token> next,
                       std::span<const std::uint16_t> rows) {
  const std::size_t columns = rows.size() / tokens.size();
  std::vector<Token>& known = tokens_of(sequence);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto row = rows.subspan(i * columns, columns);
    transcripts_[sequence.request].rows[sequence.computed++].assign(row.begin(), row.end());
    if (sequence.computed < known.size()) continue;  // the prompt has the next token
    known.push_back(next[i]);
    if (i + 1 == tokens.size() || tokens[i + 1] != next[i]) break;
    ++accepted_;
  }
}

// Publishes the pages that are complete.
void Scheduler::publish(Sequence& sequence) {
  if (!settings_.prefix_cache) return;
  const std::vector<Token>& tokens = tokens_of(sequence);
  for (; (sequence.published + 1) * bounds_.page_tokens <= sequence.computed; ++sequence.published) {
    const std::size_t end = (sequence.published + 1) * bounds_.page_tokens;
    pool_.publish(sequence.pages[sequence.published], std::span(tokens).first(end));
  }
}

}  // namespace serving_loop
