// SPDX-License-Identifier: Apache-2.0
#include "golden_launches.hpp"

#include <cubinet/attention/backend.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;
using namespace cubinet::test;

namespace {

// Returns the problem of a record, with sparse attention, which the tool's options cannot state.
Result<AttentionProblem> recorded_problem(const GoldenLaunch& golden) {
  CUBINET_TRY_ASSIGN(AttentionProblem problem, attention_problem_of(golden.arguments));
  const std::string words = golden.record["problem"];
  const std::size_t top_k = words.find(" topk=");
  if (top_k != std::string::npos) {
    problem.sparse = SparseAttention::static_token;
    problem.top_k = static_cast<std::uint32_t>(std::stoul(words.substr(top_k + 6)));
  }
  return problem;
}

std::string text_of(const nlohmann::json& launch) {
  return launch["function"].get<std::string>() + " " + launch["grid"].dump() + " " + launch["cluster"].dump();
}

struct Comparison {
  std::size_t launched = 0;     // by the publisher's code
  std::size_t windowed = 0;     // differences for several query tokens and a window
  std::size_t unexplained = 0;  // other differences
};

// Compares the selections of one version's code with those of the rules of another.
Comparison compare_selections(const std::string& recorded, const std::string& rules) {
  const DeviceFacts device{{10, 0}, 148, 0};
  static const AvailableKernels kernels = golden_kernels("0.6.13", device.capability);
  const auto backends = AttentionBackends::builtin();
  REQUIRE(backends);
  PlanOptions options;
  options.backend = kPublishedBackend;
  options.launches = false;
  options.rules = rules;
  Comparison comparison;
  for (const GoldenLaunch& golden : golden_launches("selections-" + recorded)) {
    if (!golden.was_launched()) continue;
    ++comparison.launched;
    const auto problem = recorded_problem(golden);
    REQUIRE(problem);
    const std::string theirs = text_of(golden.record["launches"][0]);
    std::string ours = "declined";
    if (const auto plan = plan_attention(*problem, device, kernels, *backends, options)) {
      const PlanStep& step = plan->steps[plan->attention_step()];
      ours = text_of({{"function", step.entry_point}, {"grid", step.grid}, {"cluster", step.cluster_x}});
    }
    if (ours == theirs) continue;
    const bool windowed = problem->is_generation() && problem->q_len > 1 && problem->is_sliding();
    ++(windowed ? comparison.windowed : comparison.unexplained);
    if (windowed || recorded != rules) continue;
    MESSAGE(golden.record["problem"].get<std::string>() << "\n  theirs " << theirs << "\n  ours   " << ours);
  }
  return comparison;
}

}  // namespace

// The publisher compares tiles by another mask before it applies the window, as in the launches of
// golden_launches_test.cpp. No other difference is permitted.
TEST_CASE("rules of each version select the rows that its own code selects") {
  for (const char* version : {"0.6.14", "0.6.17", "0.6.18", "0.7.2", "0.7.2.post1"}) {
    CAPTURE(version);
    const Comparison comparison = compare_selections(version, version);
    CHECK(comparison.launched > 300);
    CHECK(comparison.unexplained == 0);
    CHECK(comparison.windowed < comparison.launched / 50);
  }
}

TEST_CASE("recorded selections tell the rules of a version from those before it") {
  CHECK(compare_selections("0.6.14", "0.6.13").unexplained > 0);
  CHECK(compare_selections("0.6.17", "0.6.14").unexplained > 0);
  CHECK(compare_selections("0.7.2", "0.6.18").unexplained > 0);
  CHECK(compare_selections("0.7.2.post1", "0.7.2").unexplained > 0);
}
