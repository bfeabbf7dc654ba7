// SPDX-License-Identifier: Apache-2.0
#include "support/compiler_search.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/compiler_report.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;

TEST_CASE("a report has the chosen compiler, its targets and every place that was searched") {
  SessionOptions session;
  session.compiler = test::compiler_search();
  const CompilerReport report = report_compilers(session);
  REQUIRE_FALSE(report.error);
  CHECK(report.identity.starts_with("NVRTC "));
  CHECK_FALSE(report.searched.empty());
  CHECK(std::find(report.targets.begin(), report.targets.end(), SmTarget{9, 0, TargetKind::specific}) !=
        report.targets.end());
  const auto chosen = std::find_if(report.candidates.begin(), report.candidates.end(),
                                   [](const auto& candidate) { return candidate.chosen; });
  REQUIRE(chosen != report.candidates.end());
  CHECK(chosen->library == report.library);
  CHECK(report.linker.has_value() == report.why_no_linker.empty());
}

TEST_CASE("without a compiler the report has the reason and the places") {
  const test::TempDir folder;
  SessionOptions session;
  session.compiler.library = (folder / "absent.so").string();
  const CompilerReport report = report_compilers(session);
  REQUIRE(report.error);
  CHECK(report.identity.empty());
  CHECK(report.targets.empty());
}
