// SPDX-License-Identifier: Apache-2.0
#include "golden_launches.hpp"

#include "tool.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/session/launch_record.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace cubinet;
using namespace cubinet::cli;
using namespace cubinet::test;

namespace {

constexpr std::size_t kTensorMapBytes = 128;

// Returns the argument with its tensor maps cleared: six at the beginning of 0.6.2's argument,
// seven of 0.6.13's.
std::string without_maps(std::string params, std::size_t maps) {
  const std::size_t digits = maps * kTensorMapBytes * 2;
  return params.replace(0, digits, std::string(digits, '0'));
}

// Returns the name of a difference between our launch and the recorded one, or an empty string if
// there is none.
std::string difference(const nlohmann::json& ours, const nlohmann::json& theirs, std::size_t maps) {
  if (ours["launches"].size() != theirs["launches"].size()) return "the number of launches";
  const nlohmann::json& kernel = ours["launches"][0];
  const nlohmann::json& recorded = theirs["launches"][0];
  for (const char* name :
       {"function", "grid", "block", "shared", "cluster", "cluster_policy", "pdl", "runtime"}) {
    if (kernel[name] != recorded[name]) return name;
  }
  if (kernel["params"] != without_maps(recorded["params"], maps)) return "params";
  if (ours["tensor_maps"] != theirs["tensor_maps"]) return "tensor_maps";
  for (std::size_t i = 1; i < theirs["launches"].size(); ++i) {
    const nlohmann::json& mine = ours["launches"][i];
    const nlohmann::json& other = theirs["launches"][i];
    if (mine["runtime"] != true) return "runtime";
    const bool reduces = other["function"].get<std::string>().find("Reduction") != std::string::npos;
    if (reduces && (mine["grid"] != other["grid"] || mine["block"] != other["block"])) return "reduction";
  }
  return "";
}

struct Outcome {
  std::size_t launched = 0;  // by the publisher's launcher
  std::set<std::string> different;
};

Outcome compare(const std::string& name, const std::string& version, DeviceFacts device) {
  const AvailableKernels kernels = golden_kernels(version, device.capability);
  const auto backends = AttentionBackends::builtin();
  REQUIRE(backends);
  PlanOptions options;
  options.backend = kPublishedBackend;
  options.rules = version;
  Outcome outcome;
  for (const GoldenLaunch& golden : golden_launches(name)) {
    CAPTURE(golden.id);
    const auto problem = attention_problem_of(golden.arguments);
    options.starts_early = golden.starts_early;
    const auto plan = problem ? plan_attention(*problem, device, kernels, *backends, options)
                              : Result<AttentionPlan>(problem.error());
    // If the publisher's launcher refuses or crashes, ours may answer or decline. The record of its
    // answer must not fail.
    if (plan && plan->launchable()) {
      const auto tensors = made_up_tensors(*plan, {});
      REQUIRE(tensors);
      const nlohmann::json ours = launch_record(*plan, *tensors);
      if (!golden.was_launched()) continue;
      const std::string what = difference(ours, golden.record, version == "0.6.2" ? 6 : 7);
      if (!what.empty()) MESSAGE(golden.id << ": " << what);
      if (!what.empty()) outcome.different.insert(golden.id);
    } else if (golden.was_launched()) {
      MESSAGE(golden.id << ": " << (plan ? plan->not_launchable : plan.error().to_line()));
      outcome.different.insert(golden.id);
    }
    outcome.launched += golden.was_launched() ? 1U : 0U;
  }
  return outcome;
}

const DeviceFacts kDevice10{{10, 0}, 148, 0};

}  // namespace

TEST_CASE("launches of version 13 are those that its publisher makes") {
  const Outcome outcome = compare("launches-0.6.13-sm_100", "0.6.13", kDevice10);
  CHECK(outcome.launched == 300);
  // The publisher queries its cost model with another mask and applies the sliding mask afterwards.
  CHECK(outcome.different == std::set<std::string>{"w2_199", "w2_2425"});
}

TEST_CASE("launches of version 2 are those that its publisher makes") {
  const Outcome outcome = compare("launches-0.6.2-sm_100", "0.6.2", kDevice10);
  CHECK(outcome.launched == 210);
  // The publisher launches dense prefill causally. It applies the sliding mask as in version 13.
  CHECK(outcome.different == std::set<std::string>{"r1_651", "r1_892", "w2_199"});
}

TEST_CASE("launches with scales, sums, ragged queries and page tables apart are those of the publisher") {
  const Outcome outcome = compare("launches-0.6.13-variants-sm_100", "0.6.13", kDevice10);
  CHECK(outcome.launched == 99);
  CHECK(outcome.different.empty());
}

TEST_CASE("launches on another device of the family are those of the publisher") {
  const Outcome outcome = compare("launches-0.6.13-variants-sm_103-132", "0.6.13", {{10, 3}, 132, 0});
  CHECK(outcome.launched == 82);
  CHECK(outcome.different.empty());
}
