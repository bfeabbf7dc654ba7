// SPDX-License-Identifier: Apache-2.0
#include "loop.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>

namespace serving_loop {
namespace {

cubinet::Result<void> check_request(const Request& request, const Bounds& bounds) {
  const std::size_t tokens = request.prompt.size() + request.answer_tokens;
  const std::size_t most = std::min(bounds.sequence_tokens, bounds.pages * bounds.page_tokens);
  if (!request.prompt.empty() && request.answer_tokens != 0 && tokens <= most) return {};
  return cubinet::Error{cubinet::ErrorCode::invalid_argument,
                        "a request has a prompt of " + std::to_string(request.prompt.size()) +
                            " tokens and an answer of " + std::to_string(request.answer_tokens) +
                            "; both must have tokens, and together at most " + std::to_string(most)};
}

}  // namespace

cubinet::Result<Served> serve(Model& model, std::span<const Request> requests, const Bounds& bounds,
                              const Settings& settings, std::span<const std::vector<Token>> guesses) {
  for (const Request& request : requests)
    CUBINET_TRY(check_request(request, bounds));
  std::mt19937 random(settings.seed);
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);

  Served served;
  Scheduler scheduler(requests, guesses, bounds, settings);
  std::vector<Token> next;
  std::vector<std::uint16_t> rows;
  for (std::size_t arrived = 0; arrived < order.size() || !scheduler.is_idle();) {
    for (auto count = random() % 3; count != 0 && arrived < order.size(); --count)
      scheduler.add(order[arrived++]);
    const Step step = scheduler.next_step();
    if (step.tokens.empty()) continue;  // nothing has arrived
    next.resize(step.tokens.size());
    rows.resize(step.tokens.size() * model.row_elements());
    CUBINET_TRY(model.run(step, next, rows));
    scheduler.complete(step, next, rows);
    ++served.steps;
    if (step.is_generation) ++served.generation_steps;
  }
  served.transcripts.assign(scheduler.transcripts().begin(), scheduler.transcripts().end());
  served.cached_tokens = scheduler.cached_tokens();
  served.drafted = scheduler.drafted();
  served.accepted = scheduler.accepted();
  return served;
}

Differences compare(std::span<const Transcript> first, std::span<const Transcript> second) {
  Differences found;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Transcript& a = first[i];
    const Transcript& b = second[i];
    if (a.tokens != b.tokens) ++found.requests;
    for (std::size_t at = 0; at < a.tokens.size() && a.tokens[at] == b.tokens[at]; ++at) {
      if (a.rows[at].empty() || b.rows[at].empty()) continue;
      ++found.compared_rows;
      if (std::memcmp(a.rows[at].data(), b.rows[at].data(), a.rows[at].size() * sizeof(std::uint16_t)) != 0)
        ++found.rows;
    }
  }
  return found;
}

}  // namespace serving_loop
