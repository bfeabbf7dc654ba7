// SPDX-License-Identifier: Apache-2.0
#include "support/skip.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;

TEST_CASE("parts that are merged on the GPU agree with the reference, of every type") {
  const Sandbox sandbox;
  if (sandbox.run({"doctor", "--require", "driver"}).status != 0) return skip("there is no GPU here");
  for (const char* type_o : {"bf16", "fp16", "fp32", "e4m3"}) {
    const ToolResult result = sandbox.run({"run", "merge", "--tokens", "100", "--heads", "8", "--head-dim",
                                           "192", "--dtype-o", type_o, "--json"});
    CAPTURE(result.err);
    CAPTURE(result.out);
    CHECK(result.status == 0);
    CHECK(result.json()["bytes_per_second"].get<double>() > 0);
  }
}
