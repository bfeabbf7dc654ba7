// SPDX-License-Identifier: Apache-2.0
// run_merge_gpu_test runs and compares merges.
#include "api/device_fixture.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session.hpp>
#include <cubinet/session/checked_merge.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("parts of a merge that are larger than the memory of the device are refused before they are made") {
  const TempDir folder;
  SessionOptions options;
  options.home = (folder / "home").string();
  options.compiler.toolkit_roots = {cuda_root()};
  if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) options.driver_library = library;
  const auto session = ok(Session::open(options));
  AttentionMerge::Problem problem;
  problem.heads = 1U << 20U;
  problem.head_dim = 128;
  CheckedMergeOptions huge;
  huge.tokens = 1U << 24U;
  const auto refused = run_checked_merge(session->runtime(), problem, huge);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unavailable);
  CHECK(refused.error().message.find("the two parts alone take") != std::string::npos);
}
