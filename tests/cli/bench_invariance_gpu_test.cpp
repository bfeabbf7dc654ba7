// SPDX-License-Identifier: Apache-2.0
#include "support/skip.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;

TEST_CASE("bench invariance keeps every bit on the GPU, where fast numerics lose some") {
  const Sandbox sandbox;
  if (sandbox.run({"doctor", "--require", "driver"}).status != 0) return skip("there is no GPU here");
  sandbox.write(
      "s.txt",
      "--tag plain --batch 8 --kv-len 2611 --heads-q 32 --heads-kv 8\n"
      "--tag small --batch 3 --kv-len 1300 --heads-q 6 --heads-kv 1 --head-dim-qk 64 --dtype-q fp16 "
      "--window 700 --sinks --soft-cap 30 --page-size 16\n"
      "--tag wide --kv-len 800 --heads-q 4 --head-dim-qk 192 --head-dim-v 128\n");
  const ToolResult result =
      sandbox.run({"bench", "invariance", "--sweep", sandbox.path("s.txt"), "--iterations", "3", "--json"});
  CAPTURE(result.err);
  CAPTURE(result.out);
  CHECK(result.status == 0);
  const auto results = result.json()["results"];
  REQUIRE(results.size() == 3);
  for (const auto& row : results) {
    CHECK(row["implementations"][0]["keeps_bits"] == true);
    for (const auto& times : row["times"])
      CHECK(times["correct"] == true);
  }
  CHECK(results[0]["implementations"][1]["keeps_bits"] == false);
  CHECK(results[0]["times"].size() == 4);
  CHECK(results[2]["times"].size() == 2);
}
