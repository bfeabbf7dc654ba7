// SPDX-License-Identifier: Apache-2.0
#include "serving_loop/device_model.hpp"

#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/skip.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

using namespace serving_loop;
using namespace cubinet;
using namespace cubinet::test;

namespace {

constexpr Bounds kBounds{
    .batch = 4, .step_tokens = 64, .sequence_tokens = 192, .drafts = 3, .page_tokens = 16, .pages = 24};

// Requests of several pages. The longest three begin with the same two pages.
std::vector<Request> requests() {
  std::vector<Request> made;
  for (const std::size_t tokens : {40U, 70U, 1U, 90U, 17U}) {
    Request request{.answer_tokens = 8};
    for (std::size_t i = 0; i < tokens; ++i)
      request.prompt.push_back(static_cast<Token>((i < 32 ? i * 5 : i * tokens) % kVocabulary));
    made.push_back(std::move(request));
  }
  return made;
}

// Returns the largest error of the requests' last rows; NaN if one is NaN.
double largest_error(const Served& served, const Weights& weights) {
  double largest = 0;
  for (const Transcript& transcript : served.transcripts) {
    const std::size_t last = transcript.tokens.size() - 2;
    const auto expected = attend(weights, std::span(transcript.tokens).first(last + 1));
    const double error = relative_error(transcript.rows[last], expected);
    if (error > largest || std::isnan(error)) largest = error;
  }
  return largest;
}

// Serves the requests in two orders, with the kernels for prompts and with both. Returns the
// differences of the results. On a device the rows must have the right values. The stub runs no
// kernels, so its rows stay zero.
Differences serve_twice(const Arithmetic& arithmetic, double tolerance) {
  const TempDir folder;
  SessionOptions options;
  options.home = (folder / "home").string();
  options.compiler.toolkit_roots = {cuda_root()};
  const char* stub = std::getenv("CUBINET_TEST_DRIVER");
  if (stub != nullptr) options.driver_library = stub;
  const auto session = ok(Session::open(options));
  if (const auto device = session->device(0); !device) {
    skip(device.error().to_line());
    return {};
  }
  const Weights weights = make_weights(kBounds.sequence_tokens);
  auto model = ok(DeviceModel::create(*session, kBounds, arithmetic, weights));
  CHECK(model.prompt_kernels().find("attention_prefill") != std::string::npos);
  CHECK(model.generation_kernels().find("attention_decode") != std::string::npos);
  const Served first = ok(serve(model, requests(), kBounds, {.batch = 1, .step_tokens = 64}, {}));
  CHECK(first.generation_steps == 0);
  std::vector<std::vector<Token>> guesses;
  for (const Transcript& transcript : first.transcripts)
    guesses.push_back(transcript.tokens);
  ok(model.clear_cache());
  const Settings settings{.seed = 9,
                          .batch = 4,
                          .step_tokens = 50,
                          .drafts = 2,
                          .prefix_cache = true,
                          .generation_kernels = true};
  const Served second = ok(serve(model, requests(), kBounds, settings, guesses));
  for (const Served* served : {&first, &second}) {
    const double error = largest_error(*served, weights);
    CHECK((stub != nullptr ? error == 1 : error <= tolerance));
  }
  CHECK(second.generation_steps > 1);
  CHECK(second.generation_steps < second.steps);
  CHECK(second.cached_tokens >= 32);
  const Differences found = compare(first.transcripts, second.transcripts);
  CHECK(found.compared_rows > 100);
  return found;
}

}  // namespace

TEST_CASE("with invariant numerics two graphs serve requests with equal results in two orders") {
  const Differences found = serve_twice({}, 0.02);
  CHECK(found.requests == 0);
  CHECK(found.rows == 0);
}

TEST_CASE("fast numerics and a cache of e4m3 give the values of the model within their rounding") {
  serve_twice({.numerics = AttentionNumerics::fast, .cache = DataType::bf16}, 0.02);
  serve_twice({.numerics = AttentionNumerics::fast, .cache = DataType::e4m3}, 0.1);
}
