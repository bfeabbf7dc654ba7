// SPDX-License-Identifier: Apache-2.0
// Without sanitizers: UndefinedBehaviorSanitizer needs file descriptors to check a pointer.
#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;

TEST_CASE("with few file descriptors a warning that nothing is kept is true") {
  // Each limit fails at another step: opening the home, the lock, or the new files.
  for (const char* limit : {"5", "6", "7", "8", "9", "12"}) {
    const Sandbox sandbox;
    ToolSetting shell;
    shell.executable = "/bin/sh";
    const ToolResult result =
        run_tool({"-c", "ulimit -n \"$1\"; shift; exec \"$@\"", "sh", limit, tool_path(), "compile",
                  "rms_norm", "-p", "hidden_size=64", "--target", "sm_90a", "-o", sandbox.path("n.cubin"),
                  "--home", sandbox.home().string(), "--json"},
                 shell);
    CAPTURE(limit);
    CAPTURE(result.err);
    const auto document = result.json();
    if (!document.contains("results") || document["results"].empty()) {
      // The home, the compiler or the output could not be opened.
      CHECK(contains(result.out + result.err, "Too many open files"));
      continue;
    }
    REQUIRE(document["results"].size() == 1);
    const auto entries = sandbox.run({"registry", "list", "--json"}).json()["entries"].size();
    const bool kept = document["results"][0]["kept"].get<bool>();
    CHECK(entries == (kept ? 1 : 0));
    CHECK(contains(result.err, "kept in memory only") == !kept);
    if (!kept) CHECK(contains(result.err, "Too many open files"));
  }
}
