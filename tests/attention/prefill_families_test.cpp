// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_families.hpp"

#include "prefill_fixture.hpp"

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

namespace prefill = test::prefill;

TEST_CASE("preferred families of prefill precede all others, and the portable one is among them") {
  const AttentionProblem problem = prefill::prompts(4, 5000, 5000);
  const ComputeCapability device = prefill::kHopper.capability;
  const auto families = prefill_families(problem, device);
  CHECK(std::find(families.begin(), families.end(), &kAttentionPrefill) != families.end());
  CHECK(std::is_partitioned(families.begin(), families.end(),
                            [&](const PrefillFamily* family) { return family->preferred(problem, device); }));
}

TEST_CASE("every family of prefill is listed once, under the name of a template, with a source") {
  std::set<std::string> names;
  const AttentionProblem problem = prefill::prompts(4, 5000, 5000);
  for (const PrefillFamily* family : prefill_families(problem, prefill::kHopper.capability)) {
    CHECK(prefill::template_of(*family)->name() == family->name);
    CHECK(names.insert(family->name).second);
    CHECK_FALSE(std::string(family->source).empty());
  }
}

}  // namespace
}  // namespace cubinet
