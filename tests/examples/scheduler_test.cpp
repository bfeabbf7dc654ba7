// SPDX-License-Identifier: Apache-2.0
#include "serving_loop/scheduler.hpp"

#include "examples/paged_model.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace serving_loop;

namespace {

// Returns a request with the prompt 0, 1, 2, …
Request counting(Token prompt, std::uint32_t answer) {
  Request request{.prompt = std::vector<Token>(static_cast<std::size_t>(prompt)), .answer_tokens = answer};
  std::iota(request.prompt.begin(), request.prompt.end(), 0);
  return request;
}

// Completes a step for which the model returns these tokens, and rows of their values.
void complete(Scheduler& scheduler, const Step& step, const std::vector<Token>& next) {
  REQUIRE(next.size() == step.tokens.size());
  scheduler.complete(step, next, std::vector<std::uint16_t>(next.begin(), next.end()));
}

}  // namespace

TEST_CASE("a prompt is computed in chunks that fit, beside the tokens of answers") {
  const std::vector<Request> requests = {counting(3, 5), counting(11, 1)};
  Scheduler scheduler(requests, {}, kSmallBounds, {.batch = 4, .step_tokens = 6, .generation_kernels = true});
  scheduler.add(0);
  Step step = scheduler.next_step();
  CHECK(step.tokens == std::vector<Token>{0, 1, 2});
  CHECK(step.is_generation);
  complete(scheduler, step, {90, 91, 40});
  scheduler.add(1);

  step = scheduler.next_step();
  CHECK(step.tokens == std::vector<Token>{40, 0, 1, 2, 3, 4});
  CHECK(step.q_offsets == std::vector<std::int32_t>{0, 1, 6, 6, 6});
  CHECK(step.kv_lengths == std::vector<std::int32_t>{4, 5, 0, 0});
  CHECK_FALSE(step.is_generation);
  complete(scheduler, step, {41, 90, 91, 92, 93, 94});

  step = scheduler.next_step();
  CHECK(step.tokens == std::vector<Token>{41, 5, 6, 7, 8, 9});
  complete(scheduler, step, {42, 90, 91, 92, 93, 94});
  step = scheduler.next_step();
  CHECK(step.tokens == std::vector<Token>{42, 10});
  CHECK(step.is_generation);
  complete(scheduler, step, {43, 50});
  CHECK(scheduler.transcripts()[1].tokens.back() == 50);
  CHECK(scheduler.transcripts()[0].tokens == std::vector<Token>{0, 1, 2, 40, 41, 42, 43});
  step = scheduler.next_step();
  CHECK(step.tokens == std::vector<Token>{43});
  complete(scheduler, step, {44});
  CHECK(scheduler.is_idle());
  CHECK(scheduler.transcripts()[0].rows[3] == std::vector<std::uint16_t>{41});
  CHECK(scheduler.transcripts()[0].rows[7].empty());
}

TEST_CASE("drafts are accepted up to the first wrong one, which the next step overwrites") {
  const std::vector<Request> requests = {counting(1, 6)};
  const std::vector<std::vector<Token>> guesses = {{0, 10, 11, 99, 13, 14, 15}};
  Scheduler scheduler(requests, guesses, kSmallBounds, {.batch = 1, .drafts = 3});
  scheduler.add(0);
  Step step = scheduler.next_step();
  CHECK(step.tokens == std::vector<Token>{0, 10, 11, 99});
  CHECK(step.kv_lengths[0] == 4);
  complete(scheduler, step, {10, 11, 12, 77});
  CHECK(scheduler.transcripts()[0].tokens == std::vector<Token>{0, 10, 11, 12});
  CHECK(scheduler.drafted() == 3);
  CHECK(scheduler.accepted() == 2);

  // Three tokens are missing, and two drafts give all of them.
  step = scheduler.next_step();
  CHECK(step.tokens == std::vector<Token>{12, 13, 14});
  CHECK(step.kv_lengths[0] == 6);
  complete(scheduler, step, {13, 14, 15});
  CHECK(scheduler.is_idle());
  CHECK(scheduler.transcripts()[0].tokens == std::vector<Token>{0, 10, 11, 12, 13, 14, 15});
  CHECK(scheduler.transcripts()[0].rows[3] == std::vector<std::uint16_t>{13});
}

TEST_CASE("a request shares the whole pages of a prefix that was computed, and computes the rest") {
  const std::vector<Request> requests = {counting(17, 1), counting(17, 1), counting(16, 1)};
  Scheduler scheduler(requests, {}, kSmallBounds, {.batch = 1, .prefix_cache = true});
  scheduler.add(0);
  scheduler.add(1);
  scheduler.add(2);
  Step step = scheduler.next_step();
  CHECK(step.tokens.size() == 17);
  const std::vector<PageIndex> pages(step.page_table.begin(), step.page_table.begin() + 3);
  complete(scheduler, step, std::vector<Token>(17, 5));
  step = scheduler.next_step();
  CHECK(step.tokens == std::vector<Token>{16});
  CHECK(step.kv_lengths[0] == 17);
  CHECK(std::vector<PageIndex>(step.page_table.begin(), step.page_table.begin() + 2) ==
        std::vector<PageIndex>(pages.begin(), pages.begin() + 2));
  CHECK(step.page_table[2] != -1);
  CHECK(step.page_table[3] == -1);
  complete(scheduler, step, {5});
  CHECK(scheduler.transcripts()[1].rows[15].empty());
  CHECK_FALSE(scheduler.transcripts()[1].rows[16].empty());
  // The last token of a prompt is computed even if a page with it is published.
  step = scheduler.next_step();
  CHECK(step.tokens == std::vector<Token>{8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(scheduler.cached_tokens() == 16 + 8);
}

TEST_CASE("a request waits until there are pages for all its tokens") {
  Bounds bounds = kSmallBounds;
  bounds.pages = 4;
  const std::vector<Request> requests = {counting(16, 8), counting(15, 2)};
  Scheduler scheduler(requests, {}, bounds, {.batch = 4});
  scheduler.add(0);
  scheduler.add(1);
  for (int i = 0; i < 8; ++i) {
    const Step step = scheduler.next_step();
    CHECK(step.kv_lengths[0] == 16 + i);
    CHECK(step.kv_lengths[1] == 0);
    complete(scheduler, step, std::vector<Token>(step.tokens.size(), 1));
  }
  CHECK(scheduler.next_step().kv_lengths[0] == 15);
}
