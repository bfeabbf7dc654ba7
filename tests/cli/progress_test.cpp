// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;

TEST_CASE("a terminal gets a bar that is erased, anything else a line a kernel") {
  const Sandbox sandbox;
  sandbox.write("m.json", R"({"kernels": [{"template": "rms_norm", "parameters": {"hidden_size": [256, 512]},
    "targets": ["sm_80"]}]})");
  const std::vector<std::string> line = {"prebuild", sandbox.path("m.json"), "-o", sandbox.path("b.bundle")};
  ToolSetting terminal;
  terminal.stderr_is_terminal = true;
  const ToolResult bar = sandbox.run(line, terminal);
  CHECK(bar.status == 0);
  CHECK(contains(bar.err, "[==============================] 2/2"));
  CHECK(bar.err.ends_with("\r\x1b[K"));
  CHECK_FALSE(contains(bar.err, "[1/2]"));
  const ToolResult lines = sandbox.run(line);
  CHECK(contains(lines.err, "[1/2] rms_norm(hidden_size="));
  CHECK(contains(lines.err, "[2/2]"));
  CHECK_FALSE(contains(lines.err, "\x1b"));
}
