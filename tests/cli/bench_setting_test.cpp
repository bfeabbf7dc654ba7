// SPDX-License-Identifier: Apache-2.0
#include "bench_setting.hpp"

#include "driver_setting.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;

TEST_CASE("the verbs of bench refuse wrong peers and folders with the same words") {
  const Sandbox sandbox;
  for (const std::string verb : {"attention", "invariance"}) {
    CAPTURE(verb);
    const auto refused = [&](std::vector<std::string> options) {
      options.insert(options.begin(), {"bench", verb, "--kv-len", "40", "--heads-q", "4"});
      const ToolResult result = sandbox.run(options, with_driver());
      CHECK(result.status == 2);
      return result.err;
    };
    CHECK(contains(refused({"--peer", "cat"}), "'cat' is not NAME=COMMAND"));
    CHECK(contains(refused({"--peer", "=cat"}), "'=cat' is not NAME=COMMAND"));
    CHECK(contains(refused({"--peer-inputs", "f"}), "--peer"));
    refused({"--peer", "P=cat", "--peer-inputs", sandbox.path("none")});
    CHECK(contains(refused({"--sweep", "s.txt"}), "--sweep"));
  }
}

TEST_CASE("the options of bench set its members") {
  CLI::App verb;
  cubinet::cli::BenchSetting setting;
  cubinet::cli::add_bench_setting(verb, setting);
  CHECK_NOTHROW(verb.parse("--iterations 7 --seed 3 --device 1 --peer A=cat --peer B=cat"));
  CHECK(setting.iterations == 7);
  CHECK(setting.seed == 3);
  CHECK(setting.device == 1);
  CHECK(setting.peers == std::vector<std::string>{"A=cat", "B=cat"});
}
