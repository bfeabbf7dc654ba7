// SPDX-License-Identifier: Apache-2.0
#include "tool.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <doctest/doctest.h>

using namespace cubinet::test;

TEST_CASE("key prints the key and the encoding of the complete specification") {
  const ToolResult result =
      run_tool({"key", "rms_norm", "-p", "hidden_size=4096", "--target", "sm_90a,sm_100f", "--json"});
  REQUIRE(result.status == 0);
  const auto document = result.json();
  REQUIRE(document["keys"].size() == 2);
  for (const auto& key : document["keys"]) {
    const auto encoding = cubinet::from_hex(key["encoding"].get<std::string>());
    REQUIRE(encoding);
    const auto identity = cubinet::identity_from_encoding(*encoding);
    REQUIRE(identity);
    CHECK(identity->key().to_string() == key["key"].get<std::string>());
    CHECK(identity->target().to_string() == key["target"].get<std::string>());
    const auto spec = cubinet::decode_kernel(identity->kernel_encoding());
    REQUIRE(spec);
    CHECK(spec->parameters.count("threads_per_row") == 1);
  }
  CHECK(document["keys"][0]["key"] != document["keys"][1]["key"]);
}

TEST_CASE("the order of the parameters does not change the key") {
  const auto key = [](const std::vector<std::string>& parameters) {
    std::vector<std::string> line = {"key", "rms_norm", "--target", "sm_90a", "--json"};
    for (const auto& parameter : parameters)
      line.insert(line.end(), {"-p", parameter});
    return run_tool(line).json()["keys"][0]["key"].get<std::string>();
  };
  CHECK(key({"hidden_size=64", "dtype=fp16"}) == key({"dtype=fp16", "hidden_size=64"}));
  CHECK(key({"hidden_size=64", "dtype=fp16"}) != key({"hidden_size=64"}));
}

TEST_CASE("without a compiler there is a key and no fingerprint") {
  const Sandbox sandbox;
  sandbox.write("none.so", "");
  const std::vector<std::string> line = {"key",      "rms_norm", "-p",      "hidden_size=64",
                                         "--target", "sm_90a",   "--nvrtc", sandbox.path("none.so")};
  const ToolResult text = run_tool(line);
  CHECK(text.status == 0);
  CHECK(contains(text.out, "fingerprint  none"));
  auto json_line = line;
  json_line.emplace_back("--json");
  CHECK(run_tool(json_line).json()["keys"][0]["fingerprint"].is_null());
}
