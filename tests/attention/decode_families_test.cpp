// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/decode_families.hpp"

#include "decode_fixture.hpp"

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

using namespace test::decode;

TEST_CASE("The families are queried in one order, in which every preferred one precedes all others") {
  const AttentionProblem problem = llama(4, 5000);
  const auto families = decode_families(problem, kHopper.capability);
  CHECK(std::find(families.begin(), families.end(), &kAttentionDecode) != families.end());
  CHECK(std::is_partitioned(families.begin(), families.end(), [&](const DecodeFamily* family) {
    return family->preferred(problem, kHopper.capability);
  }));
  for (const DecodeFamily* family : families)
    CHECK_FALSE(std::string(family->source).empty());
}

TEST_CASE("Every family is listed once, under the name of a template of the library") {
  std::set<std::string> names;
  for (const DecodeFamily* family : decode_families(llama(4, 5000), kHopper.capability)) {
    CHECK(template_of(*family)->name() == family->name);
    CHECK(names.insert(family->name).second);
  }
}

}  // namespace
}  // namespace cubinet
