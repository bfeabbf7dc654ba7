// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cubinet::test {

struct ToolResult {
  int status = 0;  // the exit status, or 128 and the signal that ended the process
  std::string out;
  std::string err;

  // What stdout holds, which has to be one JSON document and nothing else; throws otherwise.
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

struct ToolSetting {
  // Besides PATH, the sanitizers' options and CUDA_HOME (cuda_root()): nothing of the user's
  // reaches the tool.
  std::vector<std::pair<std::string, std::string>> environment;
  std::optional<unsigned> user;  // run as this user; needs root
  bool stderr_is_terminal = false;
  std::filesystem::path executable;  // empty: the built one
  std::string stdout_file;           // instead of a pipe, such as /dev/full
  std::filesystem::path folder;      // the working directory; empty: this one
  int signal = SIGINT;               // what is sent below
  // Sends it once this text has been seen on stderr.
  std::string interrupt_after;
  // Sends one so long after the start, and each further one so long after the one before.
  std::vector<int> interrupt_milliseconds;
};

// Runs the built executable without a shell and waits for its end.
ToolResult run_tool(const std::vector<std::string>& arguments, const ToolSetting& setting = {});

const char* tool_path();

// A folder and a home in it, of one test. The home is not there before the tool makes it.
class Sandbox {
 public:
  std::filesystem::path home() const { return folder_ / "home"; }
  std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }
  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  void write(std::string_view name, std::string_view content) const;
  std::string read(std::string_view name) const;

  // With --home.
  ToolResult run(std::vector<std::string> arguments, const ToolSetting& setting = {}) const;

 private:
  TempDir folder_;
};

}  // namespace cubinet::test
