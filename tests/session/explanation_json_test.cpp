// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/session/explanation_json.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

KernelExplanation explanation_of(bool usable) {
  KernelExplanation explanation;
  explanation.spec.name = "t";
  explanation.device = {9, 0};
  ExplainedBuild build;
  build.record = test::make_cubin(explanation.spec).record;
  build.usable = usable;
  build.verdict = usable ? "it is current" : "stale: the template has changed";
  explanation.builds = {build};
  return explanation;
}

}  // namespace

TEST_CASE("an explanation names the chosen build and the reason") {
  const KernelExplanation explanation = explanation_of(true);
  CHECK(reason_of(explanation) == "sm_90a is used: it is current");
  const auto document = describe(explanation, "");
  CHECK(document["chosen"]["verdict"] == "it is current");
  CHECK(document["builds"].size() == 1);
  CHECK(document["would_compile"] == nullptr);
  CHECK(document["device"] == "9.0");
}

TEST_CASE("an explanation without a usable build says what would be compiled, or why nothing can be") {
  KernelExplanation explanation = explanation_of(false);
  explanation.would_compile = SmTarget{9, 0, TargetKind::specific};
  CHECK(reason_of(explanation) == "no store has a usable build: it would be compiled for sm_90a");
  explanation.would_compile.reset();
  explanation.cannot_compile = Error{ErrorCode::unavailable, "there is no compiler"};
  CHECK(reason_of(explanation) ==
        "no store has a usable build, and none can be made: there is no compiler; of sm_90a: stale: the "
        "template has changed");
  const auto document = describe(explanation, "install NVRTC");
  CHECK(document["chosen"] == nullptr);
  CHECK(document["cannot_compile"]["code"] == "unavailable");
  CHECK(document["fix"] == "install NVRTC");
}

TEST_CASE("a policy of targets has every member") {
  TargetPolicy policy;
  policy.forbidden = {{9, 0, TargetKind::baseline}};
  CHECK(describe(policy).dump() == R"({"forbidden":["sm_90"],"pinned":null,"prefer_family":false})");
}
