// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include "captured_stderr.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

using namespace cubinet::cli;
using namespace cubinet::test;
using namespace std::chrono_literals;

TEST_CASE("a terminal gets a bar that is erased, anything else lines") {
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

TEST_CASE("a log gets the first item, the last, and one a second between, and with verbosity all of them") {
  const auto lines_of = [](int verbosity) {
    return stderr_of([&] {
      Console console(Color::never);
      console.set_verbosity(verbosity);
      Progress progress(console, 1000);
      for (int i = 0; i < 1000; ++i)
        progress.finished("item " + std::to_string(i));
    });
  };
  CHECK(contains(lines_of(0), "[1/1000] item 0\n[1000/1000] item 999\n"));
  CHECK(contains(lines_of(1), "[500/1000] item 499\n"));
}

TEST_CASE("a second later the next item is told") {
  const std::string text = stderr_of([] {
    Console console(Color::never);
    Progress progress(console, 4);
    progress.finished("first");
    progress.finished("soon");
    std::this_thread::sleep_for(1100ms);
    progress.finished("later");
  });
  CHECK(text == "[1/4] first\n[3/4] later\n");
}
