// SPDX-License-Identifier: Apache-2.0
#include "nvtx_ranges.hpp"

#include "support/skip.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;

TEST_CASE("a profiler sees the phases of a compilation as nested ranges") {
  if (!cubinet::cli::nvtx_ranges().begin) {
    skip("built without the header of NVTX");
    return;
  }
  const Sandbox sandbox;
  ToolSetting profiled;
  profiled.environment = {{"NVTX_INJECTION64_PATH", CUBINET_TEST_NVTX_INJECTION},
                          {"NVTX_TEST_FILE", sandbox.path("ranges")}};
  const ToolResult result =
      sandbox.run({"compile", "rms_norm", "-p", "hidden_size=64", "--target", "sm_90a"}, profiled);
  CHECK(result.status == 0);
  const std::string ranges = sandbox.read("ranges");
  CAPTURE(ranges);
  const std::string phases[] = {"+cubinet request rms_norm(", "\n+cubinet find rms_norm(",
                                "\n-\n+cubinet compile rms_norm("};
  std::size_t at = 0;
  for (const std::string& phase : phases) {
    at = ranges.find(phase, at);
    REQUIRE(at != std::string::npos);
  }
  CHECK(ranges.ends_with("\n-\n-\n"));
}
