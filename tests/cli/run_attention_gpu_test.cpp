// SPDX-License-Identifier: Apache-2.0
#include "support/skip.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;

namespace {

bool has_gpu(const Sandbox& sandbox) {
  return sandbox.run({"doctor", "--require", "driver"}).status == 0;
}

}  // namespace

TEST_CASE("decode attention on the GPU agrees with the reference, from the compiler and from the home") {
  const Sandbox sandbox;
  if (!has_gpu(sandbox)) return skip("there is no GPU here");
  const std::vector<std::string> line = {
      "run",         "decode", "--batch",    "4",       "--kv-len",      "1000",
      "--heads-q",   "32",     "--heads-kv", "8",       "--head-dim-qk", "128",
      "--page-size", "16",     "--lengths",  "borders", "--json"};
  const ToolResult first = sandbox.run(line);
  CAPTURE(first.err);
  CAPTURE(first.out);
  CHECK(first.status == 0);
  CHECK(first.json()["kernel"]["source"] == "compiled");
  CHECK(first.json()["relative_error"]["worst_row"].get<double>() < 1e-2);
  CHECK(first.json()["bytes_per_second"].get<double>() > 0);
  CHECK(sandbox.run(line).json()["kernel"]["source"] == "registry");
}

TEST_CASE("windows, several query tokens, fp16 and shared prefixes agree with the reference") {
  const Sandbox sandbox;
  if (!has_gpu(sandbox)) return skip("there is no GPU here");
  const std::vector<std::vector<std::string>> variants = {
      {"--dtype-q", "fp16"},
      {"--window", "100"},
      {"--q-len", "4"},
      {"--layout", "hnd"},
      {"--q-len", "2", "--mask", "dense"},
      {"--append", "--dtype-kv", "e4m3"},
      {"--append", "--rope", "interleaved"},
      {"--shared-prefix", "600"},
      {"--shared-prefix", "600", "--append"},
      {"--shared-prefix", "512", "--dtype-kv", "e4m3"},
      {"--shared-prefix", "100", "--q-len", "3", "--sinks"}};
  for (const auto& variant : variants) {
    std::vector<std::string> line = {"run",         "decode", "--batch",    "3",      "--kv-len",      "777",
                                     "--heads-q",   "8",      "--heads-kv", "2",      "--head-dim-qk", "64",
                                     "--page-size", "64",     "--lengths",  "borders"};
    line.insert(line.end(), variant.begin(), variant.end());
    const ToolResult result = sandbox.run(line);
    CAPTURE(variant.front());
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.status == 0);
  }
}
