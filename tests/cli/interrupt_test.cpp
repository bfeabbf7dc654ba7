// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include "tool.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace cubinet::test;

TEST_CASE("the first signal is remembered and the second ends the process") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGINT, SIG_DFL);  // it may be ignored where the tests run in the background
    const cubinet::cli::InterruptGuard guard;
    ::raise(SIGINT);
    if (!guard.requested()) ::_exit(1);
    ::raise(SIGINT);
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
}

TEST_CASE("without a signal the guard leaves no trace") {
  ::signal(SIGINT, SIG_DFL);
  { const cubinet::cli::InterruptGuard guard; }
  struct sigaction action = {};
  ::sigaction(SIGINT, nullptr, &action);
  const bool untouched = action.sa_handler == SIG_DFL;
  CHECK(untouched);
}

TEST_CASE("a signal that is ignored stays ignored") {
  ::signal(SIGTERM, SIG_IGN);
  {
    const cubinet::cli::InterruptGuard guard;
    ::raise(SIGTERM);
    CHECK_FALSE(guard.requested());
  }
  ::raise(SIGTERM);
  ::signal(SIGTERM, SIG_DFL);
}

TEST_CASE("after an interrupt a prebuild has kept what is finished and the next one goes on") {
  const Sandbox sandbox;
  sandbox.write("m.json", R"({"kernels": [{"template": "rms_norm",
    "parameters": {"hidden_size": [256, 512, 768, 1024, 1280, 1536, 1792, 2048]}, "targets": ["sm_80", "sm_90a"]}]})");
  const std::vector<std::string> line = {
      "prebuild", sandbox.path("m.json"), "-o", sandbox.path("b.bundle"), "--jobs", "1", "--json"};
  ToolSetting setting;
  setting.interrupt_after = "[2/16]";
  const ToolResult result = sandbox.run(line, setting);
  CAPTURE(result.err);
  CHECK(result.status == 128 + SIGINT);
  const auto document = result.json();
  CHECK(document["interrupted"] == true);
  CHECK(document.contains("error"));
  const std::size_t finished = document["kernels"];
  CHECK(finished >= 2);
  CHECK(finished < 16);
  CHECK_FALSE(std::filesystem::exists(sandbox / "b.bundle"));
  CHECK(run_tool({"bundle", "list", sandbox.path("b.bundle.partial"), "--json"}).json()["records"].size() ==
        finished);
  const auto next = sandbox.run(line);
  CHECK(next.status == 0);
  CHECK(next.json()["reused"] == finished);
  CHECK(next.json()["compiled"] == 16 - finished);
}
