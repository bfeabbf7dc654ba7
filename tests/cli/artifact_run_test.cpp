// SPDX-License-Identifier: Apache-2.0
#include "artifact_run.hpp"

#include "support/text.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <atomic>

using namespace cubinet;
using namespace cubinet::cli;
using namespace cubinet::test;

TEST_CASE("chunks of work are each done once, from several threads") {
  const EnvironmentVariables environment;
  const GlobalOptions options;
  Console console(Color::never);
  const Context context(environment, options, console);
  const InterruptGuard interrupt;
  std::atomic<std::size_t> sum = 0;
  artifact_run(context, interrupt, 4)("folder", 100, [&](std::size_t chunk) {
    sum += chunk;
    return std::string("a chunk");
  });
  CHECK(sum == 4950);
}
