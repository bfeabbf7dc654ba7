// SPDX-License-Identifier: Apache-2.0
// A serving loop: chunks of prompts, a prefix cache, decode, and verification of drafted tokens,
// with invariant numerics. The same requests are served several times, in other orders of arrival
// and with other settings. Their tokens, and the bits of every row of O, must be equal.
//
//   example_serving_loop [--fast | --e4m3] [HOME [CUDA]]
//
// With --fast the fastest kernels attend, and results may differ between runs. --e4m3 is --fast
// with a cache of e4m3. CUDA is a CUDA toolkit, or the folder nvidia/cu13 of NVIDIA's wheels. It is
// needed if /usr/local/cuda has no NVRTC.
//
//   page_pool     reference counts of pages, and the prefix cache
//   scheduler     the tokens of each step
//   loop          arrivals, and the comparison of two runs
//   device_model  attention, the kernels around it, and the graphs
//   host_model    the model in double precision
#include "device_model.hpp"

#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace serving_loop;
using cubinet::Result;

// Settings of the runs. The first one is the reference.
constexpr Settings kRuns[] = {
    {.name = "one by one"},
    {.name = "batches", .seed = 1, .batch = 8, .generation_kernels = true},
    {.name = "small chunks", .seed = 2, .batch = 8, .step_tokens = 48, .generation_kernels = true},
    {.name = "prefix cache", .seed = 3, .batch = 8, .prefix_cache = true, .generation_kernels = true},
    {.name = "speculation", .seed = 4, .batch = 8, .drafts = 3, .generation_kernels = true},
    {.name = "speculation, kernels for prompts", .seed = 5, .batch = 6, .drafts = 2, .prefix_cache = true},
    {.name = "all, small steps",
     .seed = 6,
     .batch = 5,
     .step_tokens = 100,
     .drafts = 3,
     .prefix_cache = true,
     .generation_kernels = true},
    {.name = "all, large steps",
     .seed = 7,
     .batch = 8,
     .step_tokens = 333,
     .drafts = 1,
     .prefix_cache = true,
     .generation_kernels = true},
};

// Returns requests with prompts of one token to 1400. Two of three begin with one of two system
// prompts.
std::vector<Request> make_requests() {
  std::mt19937 random(2);
  const auto text = [&](std::size_t tokens) {
    std::vector<Token> made(tokens);
    for (Token& token : made)
      token = static_cast<Token>(random() % kVocabulary);
    return made;
  };
  const std::vector<Token> systems[] = {text(600), text(77)};
  std::vector<Request> requests;
  for (const std::size_t own : {1U, 40U, 16U, 700U, 5U, 120U, 1400U, 64U, 3U, 300U, 33U, 1U}) {
    Request request{.answer_tokens = 24 + static_cast<std::uint32_t>(random() % 40)};
    if (requests.size() % 3 != 0) request.prompt = systems[requests.size() % 3 - 1];
    const std::vector<Token> rest = text(own);
    request.prompt.insert(request.prompt.end(), rest.begin(), rest.end());
    requests.push_back(std::move(request));
  }
  return requests;
}

// Returns the drafts of a small model, which is right about four of five tokens.
std::vector<std::vector<Token>> draft(std::span<const Transcript> transcripts) {
  std::vector<std::vector<Token>> guesses;
  for (const Transcript& transcript : transcripts) {
    guesses.push_back(transcript.tokens);
    for (std::size_t i = 0; i < guesses.back().size(); i += 5)
      guesses.back()[i] = (guesses.back()[i] + 1) % Token{kVocabulary};
  }
  return guesses;
}

// Compares the last row of each request with double precision.
Result<void> check_values(std::span<const Transcript> transcripts, const Weights& weights, double tolerance) {
  for (std::size_t i = 0; i < transcripts.size(); ++i) {
    const Transcript& transcript = transcripts[i];
    const std::size_t last = transcript.tokens.size() - 2;  // the last token is generated, not computed
    const auto expected = attend(weights, std::span(transcript.tokens).first(last + 1));
    const double error = relative_error(transcript.rows[last], expected);
    if (!(error <= tolerance))  // this form of the comparison rejects NaN
      return cubinet::Error{cubinet::ErrorCode::internal,
                            "the row of O at token " + std::to_string(last) + " of request " +
                                std::to_string(i) + " has the relative error " + std::to_string(error) +
                                "; at most " + std::to_string(tolerance) + " is right"};
  }
  return {};
}

Result<void> run(const Arithmetic& arithmetic, const char* home, const char* cuda) {
  cubinet::SessionOptions options{.home = home};
  if (cuda != nullptr) options.compiler.toolkit_roots = {cuda};
  CUBINET_TRY_ASSIGN(const auto session, cubinet::Session::open(std::move(options)));
  const Bounds bounds;
  const Weights weights = make_weights(bounds.sequence_tokens);
  CUBINET_TRY_ASSIGN(auto model, DeviceModel::create(*session, bounds, arithmetic, weights));

  std::printf("prompts: %s\ngeneration: %s\n", model.prompt_kernels().c_str(),
              model.generation_kernels().c_str());
  const double tolerance = arithmetic.cache == cubinet::DataType::e4m3 ? 0.1 : 0.02;
  const std::vector<Request> requests = make_requests();
  std::vector<Transcript> reference;
  std::vector<std::vector<Token>> guesses;
  std::size_t different = 0;
  for (const Settings& settings : kRuns) {
    CUBINET_TRY(model.clear_cache());
    CUBINET_TRY_ASSIGN(auto served, serve(model, requests, bounds, settings, guesses));
    std::printf(
        "%-33s %4zu steps, %4zu with kernels for generation; %4zu tokens cached; %3zu of %3zu drafts "
        "accepted",
        settings.name.data(), served.steps, served.generation_steps, served.cached_tokens, served.accepted,
        served.drafted);
    CUBINET_TRY(check_values(served.transcripts, weights, tolerance));
    if (reference.empty()) {
      std::printf("\n");
      reference = std::move(served.transcripts);
      guesses = draft(reference);
      continue;
    }
    const Differences found = compare(reference, served.transcripts);
    std::printf("; %zu of %zu rows and the tokens of %zu of %zu requests differ\n", found.rows,
                found.compared_rows, found.requests, requests.size());
    different += found.rows + found.requests;
  }
  if (different == 0 || arithmetic.numerics == cubinet::AttentionNumerics::fast) return {};
  return cubinet::Error{cubinet::ErrorCode::internal,
                        "results depend on the order of arrival or the settings"};
}

}  // namespace

int main(int argc, char** argv) {
  std::span arguments(argv + 1, static_cast<std::size_t>(argc - 1));
  Arithmetic arithmetic;
  const std::string_view option = arguments.empty() ? "" : arguments[0];
  const bool has_option = option == "--fast" || option == "--e4m3";
  if (arguments.size() > (has_option ? 3 : 2) || (option.starts_with("--") && !has_option)) {
    std::fprintf(stderr, "usage: example_serving_loop [--fast | --e4m3] [HOME [CUDA]]\n");
    return 2;
  }
  if (has_option) {
    arithmetic.numerics = cubinet::AttentionNumerics::fast;
    if (option == "--e4m3") arithmetic.cache = cubinet::DataType::e4m3;
    arguments = arguments.subspan(1);
  }
  const auto done = run(arithmetic, !arguments.empty() ? arguments[0] : "cubinet-home",
                        arguments.size() > 1 ? arguments[1] : nullptr);
  if (!done) std::fprintf(stderr, "%s\n", done.error().to_line().c_str());
  return done ? 0 : 1;
}
