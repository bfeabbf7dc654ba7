// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;

TEST_CASE("a name with an escape sequence does not reach the terminal as one") {
  const ToolResult result = run_tool({"templates", "\x1b]0;owned\x07"});
  CHECK(result.status == 2);
  CHECK_FALSE(contains(result.err, "\x1b"));
  CHECK_FALSE(contains(result.err, "\x07"));
}

TEST_CASE("errors are coloured on a terminal unless the environment says no") {
  ToolSetting terminal;
  terminal.stderr_is_terminal = true;
  CHECK(contains(run_tool({"templates", "nothing"}, terminal).err, "\x1b[31m"));
  terminal.environment = {{"NO_COLOR", ""}};  // set to nothing counts as not set
  CHECK(contains(run_tool({"templates", "nothing"}, terminal).err, "\x1b[31m"));
  terminal.environment = {{"NO_COLOR", "1"}};
  const ToolResult plain = run_tool({"templates", "nothing"}, terminal);
  CHECK(plain.status == 2);
  CHECK_FALSE(contains(plain.err, "\x1b"));
  CHECK_FALSE(contains(run_tool({"templates", "nothing"}).err, "\x1b"));
}

TEST_CASE("names that are not UTF8 still give a JSON document") {
  const ToolResult result = run_tool({"templates", "\xff\xfe", "--json"});
  CHECK(result.status == 2);
  CHECK(result.json()["error"]["code"] == "not_found");
}
