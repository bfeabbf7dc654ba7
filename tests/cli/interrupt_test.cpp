// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include "support/sampled.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <set>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace cubinet::test;
using namespace std::chrono_literals;
using cubinet::cli::InterruptGuard;

namespace {

// Returns whether the guard reports the signal soon. The thread that takes the signals needs a
// moment.
bool requested_soon(const InterruptGuard& guard) {
  for (int i = 0; i < 5000 && !guard.requested(); ++i)
    std::this_thread::sleep_for(1ms);
  return guard.requested();
}

// Runs `child` in its own process. Returns its exit status, or 128 plus the signal that ended it.
template <class Child>
int status_of(const Child& child) {
  const pid_t process = ::fork();
  REQUIRE(process >= 0);
  if (process == 0) {
    ::signal(SIGINT, SIG_DFL);  // it may be ignored if the tests run in the background
    ::_exit(child());
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

extern "C" void leave_with_four(int) {
  ::_exit(4);
}

// Returns a template that takes seconds to compile.
std::string slow_template() {
  std::string source = R"(/* cubinet-template
{ "name": "k0", "interface": 1, "summary": "many kernels in one source", "minimum_target": "sm_80",
  "parameters": [], "constraints": [],
  "kernels": [ {"name": "k0", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 8} ] }
*/
#include <cubinet/parameters.cuh>
)";
  for (int i = 0; i < 200; ++i) {
    source += "extern \"C\" __global__ void k" + std::to_string(i) +
              "(float* p) { for (int i = 0; i < 100; ++i) p[i * threadIdx.x] += __sinf(p[i]) * " +
              std::to_string(i) + "; }\n";
  }
  return source;
}

// Returns the number of lines about finished kernels: "[7/12] ...".
std::size_t told(const std::string& text) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);)
    count += line.starts_with('[') ? 1U : 0U;
  return count;
}

}  // namespace

TEST_CASE("the first signal is remembered and the second ends the process") {
  CHECK(status_of([] {
          const InterruptGuard guard;
          ::kill(::getpid(), SIGTERM);
          if (!requested_soon(guard)) return 1;
          ::kill(::getpid(), SIGINT);
          std::this_thread::sleep_for(10s);
          return 2;
        }) == 128 + SIGINT);
}

TEST_CASE("a handler that a library has put in place gets neither the first nor the second signal") {
  CHECK(status_of([] {
          const InterruptGuard guard;
          ::signal(SIGINT, leave_with_four);
          ::kill(::getpid(), SIGINT);
          if (!requested_soon(guard)) return 1;
          ::kill(::getpid(), SIGINT);
          std::this_thread::sleep_for(10s);
          return 2;
        }) == 128 + SIGINT);
  CHECK(status_of([]() -> int {
          const InterruptGuard guard;
          ::signal(SIGTERM, leave_with_four);
          ::kill(::getpid(), SIGTERM);
          if (!requested_soon(guard)) return 1;
          guard.end_process();
        }) == 128 + SIGTERM);
  CHECK(status_of([] {
          const InterruptGuard guard(InterruptGuard::First::ends);
          ::signal(SIGINT, leave_with_four);
          ::kill(::getpid(), SIGINT);
          std::this_thread::sleep_for(10s);
          return 2;
        }) == 128 + SIGINT);
}

TEST_CASE("without a signal the guard leaves no trace") {
  ::signal(SIGINT, SIG_DFL);
  { const InterruptGuard guard; }
  struct sigaction action = {};
  ::sigaction(SIGINT, nullptr, &action);
  const bool untouched = action.sa_handler == SIG_DFL;
  CHECK(untouched);
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  CHECK(sigismember(&mask, SIGINT) == 0);
  CHECK(sigismember(&mask, SIGTERM) == 0);
}

TEST_CASE("a signal that is ignored stays ignored") {
  ::signal(SIGTERM, SIG_IGN);
  {
    const InterruptGuard guard;
    ::kill(::getpid(), SIGTERM);
    ::kill(::getpid(), SIGTERM);
    std::this_thread::sleep_for(20ms);
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
  setting.interrupt_after = "[1/16]";
  const ToolResult result = sandbox.run(line, setting);
  CAPTURE(result.err);
  CHECK(result.status == 128 + SIGINT);
  const auto document = result.json();
  CHECK(document["interrupted"] == true);
  CHECK(document.contains("error"));
  const std::size_t finished = document["kernels"];
  CHECK(finished >= 1);
  CHECK(finished < 16);
  CHECK_FALSE(std::filesystem::exists(sandbox / "b.bundle"));
  CHECK(run_tool({"bundle", "list", sandbox.path("b.bundle.partial"), "--json"}).json()["records"].size() ==
        finished);
  const auto next = sandbox.run(line);
  CHECK(next.status == 0);
  CHECK(next.json()["reused"] == finished);
  CHECK(next.json()["compiled"] == 16 - finished);
}

TEST_CASE(
    "after a kill at any moment no kernel that was told or has a record in the home is compiled again") {
  constexpr std::array<int, 5> kMoments = {300, 600, 900, 1200, 1600};
  for (const std::size_t moment : sampled(kMoments.size(), 2)) {
    const int milliseconds = kMoments[moment];
    const Sandbox sandbox;
    sandbox.write("m.json", R"({"kernels": [{"template": "rms_norm",
      "parameters": {"hidden_size": [256, 512, 768, 1024, 1280, 1536]}, "targets": ["sm_80", "sm_90a"]}]})");
    const std::vector<std::string> line = {
        "prebuild", sandbox.path("m.json"), "-o", sandbox.path("b.bundle"), "--jobs", "4", "--json", "-v"};
    ToolSetting killed;
    killed.signal = SIGKILL;
    killed.interrupt_milliseconds = {milliseconds};
    const ToolResult first = sandbox.run(line, killed);
    std::set<std::string> records;
    if (std::filesystem::exists(sandbox.home())) {
      const auto listed = sandbox.run({"registry", "list", "--json"}).json();
      for (const auto& entry : listed["entries"])
        records.insert(entry["key"]);
    }
    const auto next = sandbox.run(line).json();
    std::set<std::string> reused;
    for (const auto& kernel : next["results"]) {
      CAPTURE(kernel["key"]);
      CHECK((kernel["source"] == "compiled") != records.contains(kernel["key"]));
      if (kernel["source"] != "compiled") reused.insert(kernel["key"]);
    }
    CAPTURE(milliseconds);
    CAPTURE(first.err);
    CHECK(next["results"].size() == 12);
    CHECK(told(first.err) <= reused.size());
  }
}

TEST_CASE("an interrupt during the first compilation of the process ends it as a later one does") {
  for (const std::size_t i : sampled(20, 2)) {
    const Sandbox sandbox;
    sandbox.write("m.json", R"({"kernels": [{"template": "rms_norm",
      "parameters": {"hidden_size": [256, 512, 768, 1024, 1280, 1536]}, "targets": ["sm_80"]}]})");
    ToolSetting setting;
    setting.interrupt_milliseconds = {20 + 10 * static_cast<int>(i)};
    const ToolResult result = sandbox.run(
        {"prebuild", sandbox.path("m.json"), "-o", sandbox.path("b.bundle"), "--jobs", "1"}, setting);
    CAPTURE(i);
    CAPTURE(result.err);
    CHECK((result.status == 128 + SIGINT || result.status == 0));
    const ToolResult compiled =
        sandbox.run({"compile", "rms_norm", "-p", "hidden_size=2048", "--target", "sm_80,sm_90a"}, setting);
    CHECK((compiled.status == 128 + SIGINT || compiled.status == 0));
  }
}

TEST_CASE("a second interrupt leaves the kernel that is being compiled") {
  const Sandbox sandbox;
  sandbox.write("slow.cu", slow_template());
  sandbox.write("m.json", R"({"kernels": [{"template": "k0", "targets": ["sm_90a"]}]})");
  const std::vector<std::string> line = {
      "prebuild",        sandbox.path("m.json"), "-o", sandbox.path("b.bundle"),
      "--template-file", sandbox.path("slow.cu")};
  ToolSetting setting;
  setting.interrupt_milliseconds = {600, 100};
  const ToolResult result = sandbox.run(line, setting);
  CAPTURE(result.err);
  CHECK(result.status == 128 + SIGINT);
  CHECK_FALSE(contains(result.err, "[1/1]"));
}
