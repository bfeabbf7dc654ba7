// SPDX-License-Identifier: Apache-2.0
#include "backend_fixture.hpp"

#include <algorithm>

namespace cubinet {
namespace {

TEST_CASE("every rule says when it applies and where it comes from, and names backends that there are") {
  const AttentionBackends backends = test::builtin_backends();
  for (const BackendRule& rule : backend_rules()) {
    CHECK_FALSE(rule.condition.empty());
    CHECK_FALSE(rule.source.empty());
    for (const std::string_view name : rule.order)
      CHECK(backends.find(name) != nullptr);
  }
}

TEST_CASE("for each purpose the last rule applies to everything") {
  for (const AttentionPurpose purpose : {AttentionPurpose::select, AttentionPurpose::launch}) {
    const auto rules = backend_rules();
    const auto last = std::find_if(rules.rbegin(), rules.rend(),
                                   [&](const BackendRule& rule) { return rule.purpose == purpose; });
    REQUIRE(last != rules.rend());
    CHECK(last->applies(test::generation(1, 1, 1, 1, 1), BackendContext{}));
  }
}

TEST_CASE("published rows that run on the device come first when deciding, never when launching") {
  const AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  const auto rows = test::published_rows(problem);
  const BackendContext here = BackendContext::create(test::kB200, rows);
  const BackendContext elsewhere = BackendContext::create(test::kH200, rows);
  CHECK(test::survey(problem, "auto", AttentionPurpose::select, here).effective() == "imported");
  CHECK(test::survey(problem, "auto", AttentionPurpose::select, elsewhere).effective() == "templates");
  const AttentionResolution launch = test::survey(problem, "auto", AttentionPurpose::launch, here);
  CHECK(launch.effective() == "templates");
  CHECK(launch.declined.empty());
  const AttentionResolution hopper = test::survey(problem, "auto", AttentionPurpose::launch, elsewhere);
  CHECK(hopper.rule != launch.rule);
  CHECK(test::holds(std::string(hopper.rule->source), "H200"));
}

}  // namespace
}  // namespace cubinet
