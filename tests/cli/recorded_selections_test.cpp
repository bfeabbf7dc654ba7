// SPDX-License-Identifier: Apache-2.0
#include "golden_launches.hpp"

#include <cubinet/attention/backend.hpp>

#include <doctest/doctest.h>

#include <set>

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
  std::size_t launched = 0;  // by the publisher's code
  std::set<std::string> different;
};

Comparison compare_selections(const std::string& version) {
  const DeviceFacts device{{10, 0}, 148, 0};
  const AvailableKernels kernels = golden_kernels("0.6.13", device.capability);
  const auto backends = AttentionBackends::builtin();
  REQUIRE(backends);
  PlanOptions options;
  options.backend = kPublishedBackend;
  options.launches = false;
  options.rules = version;
  Comparison comparison;
  for (const GoldenLaunch& golden : golden_launches("selections-" + version)) {
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
    comparison.different.insert(golden.id);
    MESSAGE(golden.record["problem"].get<std::string>() << "\n  theirs " << theirs << "\n  ours   " << ours);
  }
  return comparison;
}

}  // namespace

TEST_CASE("rules of version 17 select the rows that its own code selects") {
  const Comparison comparison = compare_selections("0.6.17");
  CHECK(comparison.launched > 0);
  CHECK(comparison.different.empty());
}

TEST_CASE("rules of version 72 select the rows that its own code selects") {
  const Comparison comparison = compare_selections("0.7.2.post1");
  CHECK(comparison.launched > 0);
  CHECK(comparison.different.empty());
}
