// SPDX-License-Identifier: Apache-2.0
#include "serving_loop/loop.hpp"

#include "examples/paged_model.hpp"
#include "support/ok.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace serving_loop;
using namespace cubinet::test;

TEST_CASE("tokens and rows are equal for every order of arrival and all settings of a server") {
  const std::vector<Request> requests = small_requests();
  PagedModel model(kSmallBounds);
  const Served reference = ok(serve(model, requests, kSmallBounds, {.batch = 1, .step_tokens = 64}, {}));
  CHECK(model.most_sequences == 1);
  const auto guesses = wrong_guesses(reference.transcripts);
  std::size_t cached = 0;
  std::size_t accepted = 0;
  std::size_t rejected = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const Settings settings{.seed = seed,
                            .batch = 1 + seed % 4,
                            .step_tokens = 1 + seed * 7 % 64,
                            .drafts = seed / 4 % 4,
                            .prefix_cache = seed % 3 != 0,
                            .generation_kernels = seed % 5 != 0};
    CAPTURE(seed);
    PagedModel again(kSmallBounds);
    const Served served = ok(serve(again, requests, kSmallBounds, settings, guesses));
    const Differences found = compare(reference.transcripts, served.transcripts);
    CHECK(found.requests == 0);
    CHECK(found.rows == 0);
    CHECK(found.compared_rows > 100);
    CHECK(again.most_tokens <= settings.step_tokens);
    CHECK(again.most_sequences <= settings.batch);
    CHECK((served.generation_steps != 0) == settings.generation_kernels);
    if (!settings.prefix_cache) CHECK(served.cached_tokens == 0);
    if (settings.drafts == 0) CHECK(served.drafted == 0);
    cached += served.cached_tokens;
    accepted += served.accepted;
    rejected += served.drafted - served.accepted;
    for (std::size_t i = 0; i < requests.size(); ++i)
      CHECK(served.transcripts[i].tokens.size() == requests[i].prompt.size() + requests[i].answer_tokens);
  }
  CHECK(cached > 1000);
  CHECK(accepted > 1000);
  CHECK(rejected > 1000);
}

TEST_CASE("rows that depend on the batch are found") {
  const std::vector<Request> requests = small_requests();
  PagedModel model(kSmallBounds, /*batch_error=*/1);
  const Served reference = ok(serve(model, requests, kSmallBounds, {.batch = 1, .step_tokens = 64}, {}));
  const Served served = ok(serve(model, requests, kSmallBounds, {.batch = 4, .step_tokens = 64}, {}));
  const Differences found = compare(reference.transcripts, served.transcripts);
  CHECK(found.rows > 100);
  CHECK(found.requests == 0);
}

TEST_CASE("rows after the first different token are not compared") {
  const Transcript first{{1, 2, 3, 4}, {{10}, {11}, {12}, {}}};
  const Transcript second{{1, 2, 5, 6}, {{10}, {19}, {18}, {}}};
  const Differences found = compare(std::vector{first}, std::vector{second});
  CHECK(found.requests == 1);
  CHECK(found.rows == 1);
  CHECK(found.compared_rows == 2);
}

TEST_CASE("a request that exceeds the bounds is refused") {
  PagedModel model(kSmallBounds);
  for (const Request& request :
       {Request{}, Request{.prompt = {1}, .answer_tokens = 0}, Request{.prompt = std::vector<Token>(128)}}) {
    const auto served = serve(model, std::vector{request}, kSmallBounds, {}, {});
    REQUIRE_FALSE(served.has_value());
    CHECK(served.error().code == cubinet::ErrorCode::invalid_argument);
    CHECK(served.error().to_line().find("together at most 128") != std::string::npos);
  }
}
