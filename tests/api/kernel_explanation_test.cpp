// SPDX-License-Identifier: Apache-2.0
// Explanations and target policies, with real NVRTC and without a device.
#include "cubin_source.hpp"
#include "runtime_fixture.hpp"

#include <cubinet/kernel_explanation.hpp>

namespace cubinet {
namespace {

using namespace test;

constexpr SmTarget kSpecific{9, 0, TargetKind::specific};
constexpr SmTarget kBaseline{9, 0, TargetKind::baseline};
constexpr SmTarget kFamily{10, 0, TargetKind::family};
constexpr SmTarget kSpecific100{10, 0, TargetKind::specific};
constexpr ComputeCapability kHopper{9, 0};

KernelExplanation explain(Runtime& runtime, const KernelSpec& spec, ComputeCapability device = kHopper) {
  auto explanation = runtime.explain(spec, device);
  REQUIRE(explanation);
  return *std::move(explanation);
}

void build(Runtime& runtime, const KernelSpec& spec, SmTarget target) {
  const auto found = runtime.cubin(spec, target);
  REQUIRE(found);
  REQUIRE(found->has_value());
}

std::optional<SmTarget> chosen_target(const KernelExplanation& explanation) {
  if (!explanation.chosen) return std::nullopt;
  return explanation.targets[explanation.chosen->target].target.target;
}

TEST_CASE(
    "where nothing lies the explanation names the target that would be compiled, and compiles nothing") {
  const TempDir home;
  const auto runtime = make_runtime(runtime_options(home / "h"));
  const auto explanation = explain(*runtime, scale_spec());
  CHECK_FALSE(explanation.chosen.has_value());
  CHECK(explanation.choice() == nullptr);
  CHECK(explanation.would_compile == kSpecific);
  CHECK_FALSE(explanation.cannot_compile.has_value());
  CHECK(explanation.nearest.empty());
  REQUIRE(explanation.targets.size() > 2);
  CHECK(explanation.targets[0].target.target == kSpecific);
  CHECK(explanation.targets[1].target.target == kBaseline);
  CHECK(runtime->counters().compiled == 0);
  CHECK(runtime->registry()->stats()->entries == 0);
}

TEST_CASE("what is chosen is what a request then finds, for every device and policy") {
  const TempDir home;
  const auto builder = make_runtime(runtime_options(home / "h"));
  for (const SmTarget target :
       {kSpecific, kBaseline, kFamily, kSpecific100, SmTarget{10, 3, TargetKind::family}})
    build(*builder, scale_spec(), target);
  std::vector<TargetPolicy> policies(4);
  policies[1].prefers_family = true;
  policies[2].forbidden = {kSpecific, kSpecific100};
  policies[3].pinned = kFamily;
  const auto resolved = builder->prepare(scale_spec());
  REQUIRE(resolved);
  int chosen = 0;
  for (const TargetPolicy& policy : policies) {
    auto options = runtime_options(home / "h");
    options.targets = policy;
    options.compile = CompilePolicy::never;
    const auto runtime = make_runtime(std::move(options));
    RegistryOptions registry_options;
    registry_options.home = home / "h";
    CubinLayers layers(*Registry::open(registry_options), {}, {});
    Environment environment(compiler_search(), {});
    CubinSource source(layers, environment, CompilePolicy::never, policy, {});
    const CachedKernel kernel(nullptr, (*resolved)->kernel_template(), (*resolved)->spec());
    for (const ComputeCapability device : {kHopper, ComputeCapability{10, 0}, ComputeCapability{10, 3},
                                           ComputeCapability{8, 6}, ComputeCapability{12, 0}}) {
      const auto explanation = explain(*runtime, scale_spec(), device);
      const auto found = source.for_device(kernel, device);
      REQUIRE(found.has_value() == explanation.chosen.has_value());
      if (!found) {
        CHECK(found.error().code == ErrorCode::not_found);
        continue;
      }
      ++chosen;
      CHECK(chosen_target(explanation) == found->cubin.record->target);
      CHECK(explanation.choice()->record->digest == found->cubin.record->digest);
      CHECK(policy.allows(found->cubin.record->target));
    }
  }
  CHECK(chosen == 3 + 3 + 3 + 2);
}

TEST_CASE("a preference for families takes the family before the specific target, and says so") {
  const TempDir home;
  auto options = runtime_options(home / "h");
  options.targets.prefers_family = true;
  const auto runtime = make_runtime(std::move(options));
  build(*runtime, scale_spec(), kFamily);
  build(*runtime, scale_spec(), kSpecific100);
  const auto explanation = explain(*runtime, scale_spec(), {10, 0});
  CHECK(chosen_target(explanation) == kFamily);
  CHECK(explanation.policy.to_string() == "prefers family targets");
}

TEST_CASE("a refused target is shown with the reason, behind those that are allowed") {
  const TempDir home;
  auto options = runtime_options(home / "h");
  options.targets.forbidden = {kSpecific};
  const auto runtime = make_runtime(std::move(options));
  build(*runtime, scale_spec(), kSpecific);
  const auto explanation = explain(*runtime, scale_spec());
  CHECK_FALSE(explanation.chosen.has_value());
  CHECK(explanation.would_compile == kBaseline);
  REQUIRE(explanation.targets.size() > 2);
  CHECK(explanation.targets[0].target.target == kBaseline);
  CHECK(explanation.targets[1].target.target == kSpecific);
  CHECK(explanation.targets[1].refused == "sm_90a is forbidden");
  CHECK(explanation.targets[1].candidates.empty());
}

TEST_CASE("a stale build is shown with the reason, and the nearest builds with their differences") {
  const TempDir home;
  auto old_options = runtime_options(home / "h");
  old_options.templates = scale_catalog(std::string(kScaleTemplate) + "// older text\n");
  const auto old_runtime = make_runtime(std::move(old_options));
  build(*old_runtime, scale_spec(), kSpecific);
  build(*old_runtime, scale_spec(4), kSpecific);
  build(*old_runtime, scale_spec(4).set("unroll", 2), kSpecific);
  build(*old_runtime, scale_spec(), kFamily);
  const auto runtime = make_runtime(runtime_options(home / "h"));
  const auto explanation = explain(*runtime, scale_spec());
  CHECK_FALSE(explanation.chosen.has_value());
  REQUIRE(explanation.targets[0].candidates.size() == 1);
  CHECK_FALSE(explanation.targets[0].candidates[0].usable);
  CHECK(explanation.targets[0].candidates[0].verdict.find("stale") == 0);
  CHECK(explanation.targets[0].candidates[0].place == home / "h");
  REQUIRE(explanation.nearest.size() == 3);
  CHECK(explanation.nearest[0].differences == std::vector<std::string>{"factor 4 instead of 3"});
  CHECK(explanation.nearest[0].target_verdict.empty());
  CHECK(explanation.nearest[1].target_verdict.find("sm_100f code runs on") == 0);
  CHECK(explanation.nearest[1].differences.empty());
  CHECK(explanation.nearest[2].differences.size() == 2);
}

TEST_CASE("a policy that can be met by no target is refused when the Runtime is made") {
  auto options = RuntimeOptions{};
  options.targets.pinned = kSpecific;
  options.targets.forbidden = {kSpecific};
  const auto refused = Runtime::create(std::move(options));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a target that is pinned and runs elsewhere leaves nothing to compile, and the error says so") {
  const TempDir home;
  auto options = runtime_options(home / "h");
  options.targets.pinned = kFamily;
  const auto runtime = make_runtime(std::move(options));
  const auto explanation = explain(*runtime, scale_spec());
  CHECK_FALSE(explanation.would_compile.has_value());
  REQUIRE(explanation.cannot_compile.has_value());
  CHECK(explanation.cannot_compile->message.find("pins sm_100f") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
