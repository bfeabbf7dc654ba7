// SPDX-License-Identifier: Apache-2.0
// serve-warm asks the driver for the devices. The stub driver says how many there are.
#include "driver_setting.hpp"
#include "support/skip.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

constexpr const char* kEntry = "YOMA6WBTAY4J6E5S73OL2YVRJRIDH6EAYOZONAFMOR76CCMGTORA";  // for 9.0

// A home with recorded entries of Triton, on a machine with this many devices.
struct Machine {
  Sandbox sandbox;
  ToolSetting setting = with_driver();

  explicit Machine(const char* devices, const std::string& capability = "9.0") {
    if (is_missing()) {
      skip("needs the stub driver");
      return;
    }
    REQUIRE(sandbox.run({"adopt", (fs::path(CUBINET_RECORDED) / "triton-3.9.0").string()}).status == 0);
    for (const auto& variable : {std::pair("CUBINET_STUB_DEVICES", std::string(devices)),
                                 std::pair("CUBINET_STUB_CAPABILITY", capability),
                                 std::pair("TORCHINDUCTOR_CACHE_DIR", sandbox.path("torch")),
                                 std::pair("HOME", sandbox.path("user"))})
      setting.environment.emplace_back(variable);
  }
  bool is_missing() const { return setting.environment.empty(); }
  ToolResult run(const std::string& script) const {
    return run_tool({"serve-warm", "--home", sandbox.home().string(), "--", "/bin/sh", "-c", script},
                    setting);
  }
};

}  // namespace

TEST_CASE("each device of the machine has its folder of PyTorch, beside the default of Triton") {
  const Machine machine("2");
  if (machine.is_missing()) return;
  const ToolResult result = machine.run("echo $CUBINET_TRITON_CACHE");
  CHECK(contains(result.err, "3 entries put for 9.0,"));
  CHECK(result.out == machine.sandbox.path("torch/triton/0") + "\n");
  for (const char* folder : {"torch/triton/0/", "torch/triton/1/", "user/.triton/cache/"})
    CHECK(fs::exists(machine.sandbox / (std::string(folder) + kEntry)));
}

TEST_CASE("a machine with another device gets nothing of this one") {
  const Machine machine("1", "10.0");
  if (machine.is_missing()) return;
  CHECK(contains(machine.run("exit 0").err, "0 entries put for 10.0,"));
  CHECK_FALSE(fs::exists(machine.sandbox / "torch"));
}

TEST_CASE("a machine without a device starts the command cold") {
  const Machine machine("0");
  if (machine.is_missing()) return;
  const ToolResult result = machine.run("exit 7");
  CHECK(result.status == 7);
  CHECK(contains(result.err, "the device is not known"));
  CHECK_FALSE(fs::exists(machine.sandbox / "torch"));
}

TEST_CASE("the driver leaves no descriptor to the command") {
  const Machine machine("1");
  if (machine.is_missing()) return;
  const ToolResult result = machine.run("ls /proc/$$/fd");
  // The streams, and nothing else but what the shell has for itself.
  ToolSetting bare = machine.setting;
  bare.executable = "/bin/sh";
  CHECK(result.out == run_tool({"-c", "ls /proc/$$/fd"}, bare).out);
}
