// SPDX-License-Identifier: Apache-2.0
#include "driver_setting.hpp"
#include "support/skip.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

using namespace cubinet::test;

namespace {

ToolResult bench(const Sandbox& sandbox, std::vector<std::string> options) {
  options.insert(options.begin(), {"bench", "attention"});
  return sandbox.run(options, with_driver());
}

}  // namespace

TEST_CASE("bench attention measures what it was asked to, and finds out a device that computes nothing") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub computes nothing");
  const Sandbox sandbox;
  sandbox.write("s.txt",
                "--tag small --batch 2 --kv-len 40 --heads-q 4 --heads-kv 2 --head-dim-qk 64 --page-size 16 "
                "--q-len 1,2\n"
                "--tag nobody --kv-len 40 --heads-q 4 --head-dim-qk 72 --page-size 16\n");
  const ToolResult result = bench(sandbox, {"--sweep", sandbox.path("s.txt"), "--csv", sandbox.path("t.csv"),
                                            "--iterations", "3", "--json"});
  CAPTURE(result.err);
  CAPTURE(result.out);
  REQUIRE(result.status == 1);
  const auto results = result.json()["results"];
  REQUIRE(results.size() == 3);
  CHECK(results[0]["correct"] == false);
  CHECK(results[0]["backend"] == "templates");
  CHECK(results[0]["requested"] == "auto");
  CHECK(results[0]["rounds"]["seconds"].size() == 3);
  CHECK(results[0]["rounds"]["read_seconds"].size() == 3);
  CHECK(results[1]["q_len"] == 2);
  CHECK(results[2]["error"]["code"] == "unsupported");
  const std::string table = sandbox.read("t.csv");
  CHECK(std::count(table.begin(), table.end(), '\n') == 4);
}

TEST_CASE("bench attention refuses what is no case before it measures another") {
  const Sandbox sandbox;
  CHECK(bench(sandbox, {}).status == 2);
  CHECK(bench(sandbox, {"--kv-len", "10"}).status == 2);
  CHECK(bench(sandbox, {"--sweep", sandbox.path("none.txt")}).status == 2);
  sandbox.write("s.txt", "--kv-len 40 --heads-q 4\n--kv-len 40 --heads-q 4 --heads-kv 3\n");
  CHECK(bench(sandbox, {"--sweep", sandbox.path("s.txt")}).status == 2);
  CHECK(bench(sandbox, {"--sweep", sandbox.path("s.txt"), "--batch", "3"}).status == 2);
}
