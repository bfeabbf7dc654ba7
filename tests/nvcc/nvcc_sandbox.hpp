// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tool.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cubinet::test {

inline constexpr const char* kSmallKernel = "__global__ void k(int* out) { *out = 1; }\n";

// A sandbox in which a script stands for the real nvcc. It writes its arguments into the file
// `called`.
class NvccSandbox {
 public:
  NvccSandbox() {
    sandbox_.write("nvcc", "#!/bin/sh\necho \"$@\" >> " + sandbox_.path("called") + "\nexit 0\n");
    std::filesystem::permissions(sandbox_ / "nvcc", std::filesystem::perms::owner_all);
    sandbox_.write("kernel.cu", kSmallKernel);
  }
  const Sandbox* operator->() const { return &sandbox_; }
  std::filesystem::path operator/(std::string_view name) const { return sandbox_ / name; }

  ToolResult run(const std::vector<std::string>& arguments,
                 std::vector<std::pair<std::string, std::string>> environment = {}) const {
    return test::run_tool(arguments, setting_for(std::move(environment)));
  }
  // Runs the line as a user without privileges, to whom the sandbox is open. Returns nullopt where
  // that cannot be tried: it needs root, and an NVRTC that this user finds.
  std::optional<ToolResult> run_as_nobody(const std::vector<std::string>& arguments) const {
    if (::geteuid() != 0) return std::nullopt;
    std::filesystem::permissions(sandbox_ / "", std::filesystem::perms::all);
    ToolSetting setting = setting_for({});
    setting.executable = sandbox_ / "cubinet-nvcc";
    std::filesystem::copy_file(CUBINET_NVCC_TOOL, setting.executable);
    setting.user = 65534;
    ToolSetting without_home = setting;
    without_home.environment = {{"CUBINET_HOME", ""}};
    if (test::run_tool({"--version"}, without_home).status != 0) return std::nullopt;
    return test::run_tool(arguments, setting);
  }
  // Returns the lines that nvcc was called with.
  std::string called() const {
    return std::filesystem::exists(sandbox_ / "called") ? sandbox_.read("called") : std::string();
  }
  // Returns the name and the argument bytes of each kernel of an image, sorted.
  std::vector<std::string> kernels(std::string_view image) const {
    const nlohmann::json report = sandbox_.run({"inspect", "--json", sandbox_.path(image)}).json();
    std::vector<std::string> found;
    for (const auto& kernel : report.at("results").at(0).at("kernels"))
      found.push_back(kernel.at("name").get<std::string>() + " " + kernel.at("argument_bytes").dump());
    std::sort(found.begin(), found.end());
    return found;
  }
  bool has(std::string_view name) const { return std::filesystem::exists(sandbox_ / name); }

 private:
  ToolSetting setting_for(std::vector<std::pair<std::string, std::string>> environment) const {
    ToolSetting setting;
    setting.executable = CUBINET_NVCC_TOOL;
    setting.folder = sandbox_ / "";
    setting.environment = std::move(environment);
    setting.environment.emplace_back("CUBINET_HOME", sandbox_.home().string());
    setting.environment.emplace_back("CUBINET_NVCC", sandbox_.path("nvcc"));
    return setting;
  }

  Sandbox sandbox_;
};

}  // namespace cubinet::test
