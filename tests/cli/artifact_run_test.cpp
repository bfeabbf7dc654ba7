// SPDX-License-Identifier: Apache-2.0
#include "artifact_run.hpp"

#include "support/text.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <atomic>

using namespace cubinet;
using namespace cubinet::cli;
using namespace cubinet::test;

namespace {

ArtifactFindings findings_of(std::size_t count) {
  ArtifactFindings findings;
  for (std::size_t i = 0; i < count; ++i)
    findings.add({"name" + std::to_string(i) + "\n", "it is so", "folder"});
  return findings;
}

}  // namespace

TEST_CASE("findings are counted in JSON, and the first have names and reasons") {
  const auto document = describe(findings_of(25));
  CHECK(document["count"] == 25);
  CHECK(document["first"].size() == kMaximumListedFindings);
  CHECK(document["first"][1] == "name1\n");
  CHECK(document["details"][1] ==
        nlohmann::json{{"folder", "folder"}, {"name", "name1\n"}, {"reason", "it is so"}});
}

TEST_CASE("pieces of work are each done once, from several threads") {
  const EnvironmentVariables environment;
  const GlobalOptions options;
  Console console(Color::never);
  const Context context(environment, options, console);
  const InterruptGuard interrupt;
  std::atomic<std::size_t> sum = 0;
  artifact_run(context, interrupt, 4)("folder", 100, [&](std::size_t piece) {
    sum += piece;
    return std::string("a piece");
  });
  CHECK(sum == 4950);
}
