// SPDX-License-Identifier: Apache-2.0
#include "driver_setting.hpp"
#include "support/skip.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace cubinet::test;

namespace {

ToolResult compare_bits_of(const Sandbox& sandbox, std::vector<std::string> options) {
  options.insert(options.begin(), {"bench", "invariance"});
  return sandbox.run(options, with_driver());
}

}  // namespace

TEST_CASE("bench invariance compares the problems of a sweep once, and ends with 1 if a run is wrong") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub computes nothing");
  const Sandbox sandbox;
  sandbox.write("s.txt",
                "--tag plain --batch 2 --kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16\n"
                "--batch 2 --kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16 --q-len 2 "
                "--numerics invariant --goal row:plain:1.15\n"
                "--tag narrow --batch 2 --kv-len 40 --heads-q 4 --head-dim-qk 64 --dtype-kv e4m3\n");
  const ToolResult result =
      compare_bits_of(sandbox, {"--sweep", sandbox.path("s.txt"), "--iterations", "2", "--json"});
  CAPTURE(result.err);
  CAPTURE(result.out);
  REQUIRE(result.status == 1);
  const auto results = result.json()["results"];
  REQUIRE(results.size() == 2);
  CHECK(results[0]["case_tag"] == "plain");
  CHECK(results[0]["implementations"][0]["name"] == "invariant");
  CHECK(results[0]["implementations"][1]["name"] == "fast");
  CHECK(results[0]["times"][0]["correct"] == false);
  CHECK(results[0]["times"][0]["rounds"]["invariant"].size() == 2);
  CHECK(results[1]["error"]["code"] == "unsupported");
}

TEST_CASE("bench invariance without a problem takes its own, with the other options") {
  const Sandbox sandbox;
  // KV of e4m3 has no invariant numerics, so that nothing is computed.
  const ToolResult result = compare_bits_of(sandbox, {"--dtype-kv", "e4m3", "--iterations", "1", "--json"});
  CAPTURE(result.err);
  CHECK(result.status == 1);
  const auto row = result.json()["results"][0];
  CHECK(row["kv_len"] == 4243);
  CHECK(row["batch"] == 8);
  CHECK(row["heads_q"] == 32);
  CHECK(row["heads_kv"] == 8);
  CHECK(row["error"]["code"] == "unsupported");
}

TEST_CASE("bench invariance without a problem keeps a batch and KV heads that are given") {
  const Sandbox sandbox;
  const ToolResult result = compare_bits_of(
      sandbox, {"--dtype-kv", "e4m3", "--batch", "2", "--heads-kv", "4", "--iterations", "1", "--json"});
  CAPTURE(result.err);
  const auto row = result.json()["results"][0];
  CHECK(row["kv_len"] == 4243);
  CHECK(row["batch"] == 2);
  CHECK(row["heads_q"] == 32);
  CHECK(row["heads_kv"] == 4);
}

TEST_CASE("bench invariance pages KV that is given as contiguous") {
  const Sandbox sandbox;
  for (const char* layout : {"paged", "contiguous"}) {
    const ToolResult result = compare_bits_of(
        sandbox, {"--kv-len", "40", "--heads-q", "4", "--head-dim-qk", "64", "--dtype-kv", "e4m3",
                  "--qkv-layout", layout, "--page-size", "0", "--iterations", "1", "--json"});
    CAPTURE(result.err);
    CHECK(result.status == 1);
    CHECK(result.json()["results"][0]["error"]["code"] == "unsupported");
  }
}

TEST_CASE("bench invariance refuses what it cannot compare") {
  const Sandbox sandbox;
  CHECK(compare_bits_of(sandbox, {"--kv-len", "40"}).status == 2);
  CHECK(compare_bits_of(sandbox, {"--heads-q", "4"}).status == 2);
  CHECK(compare_bits_of(sandbox, {"--kv-len", "8", "--heads-q", "4"}).status == 2);
  CHECK(compare_bits_of(sandbox, {"--kv-len", "40", "--heads-q", "4", "--mask", "dense"}).status == 2);
  CHECK(compare_bits_of(sandbox, {"--sweep", sandbox.path("none.txt")}).status == 2);
  CHECK(compare_bits_of(sandbox, {"--sweep", "s.txt", "--kv-len", "40"}).status == 2);
  CHECK(compare_bits_of(sandbox, {"--sweep", ""}).status == 2);
  const ToolResult alone = compare_bits_of(sandbox, {"--peer", "P=cat"});
  CHECK(alone.status == 2);
  CHECK(contains(alone.err, "--peer-inputs"));
}
