// SPDX-License-Identifier: Apache-2.0
#include "driver_setting.hpp"
#include "support/skip.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace cubinet::test;

TEST_CASE("a device that merges nothing is found out") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub computes nothing");
  const Sandbox sandbox;
  const ToolResult result = sandbox.run(
      {"run", "merge", "--tokens", "3", "--heads", "4", "--iterations", "2", "--json"}, with_driver());
  CAPTURE(result.err);
  CAPTURE(result.out);
  REQUIRE(result.status == 1);
  const auto document = result.json();
  CHECK(document["correct"] == false);
  CHECK(document["template"] == "attention_merge");
  CHECK(document["kernel"]["source"] == "compiled");
  CHECK(document["bytes"] == 3 * 4 * (3 * 128 * 2 + 3 * 4));
}

TEST_CASE("a merge that no kernel computes is refused by name") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("needs the stub");
  const Sandbox sandbox;
  const auto refused = [&](std::vector<std::string> more, const char* word) {
    more.insert(more.begin(), {"run", "merge", "--heads", "4", "--json"});
    const ToolResult result = sandbox.run(more, with_driver());
    CAPTURE(result.out);
    CHECK(result.status != 0);
    CHECK(result.json()["error"]["code"] == "invalid_argument");
    CHECK(contains(result.json()["error"]["message"].get<std::string>(), word));
  };
  refused({"--dtype", "e4m3"}, "--dtype is e4m3");
  refused({"--dtype", "bf17"}, "--dtype");
  refused({"--head-dim", "100"}, "--head-dim is 100");
  refused({"--output-scale", "-1"}, "--output-scale is -1");
}

TEST_CASE("parts that no device holds are refused before they are made") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("needs the stub");
  const Sandbox sandbox;
  const ToolResult result =
      sandbox.run({"run", "merge", "--heads", "4096", "--tokens", "4000000", "--json"}, with_driver());
  CAPTURE(result.out);
  CHECK(result.status != 0);
  CHECK(result.json()["error"]["code"] == "unavailable");
  CHECK(contains(result.json()["error"]["message"].get<std::string>(), "GiB"));
}
