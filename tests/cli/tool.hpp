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
  int status = 0;  // the exit status, or 128 plus the signal that ended the process
  std::string out;
  std::string err;

  // Parses stdout, which must be exactly one JSON document. Throws otherwise.
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

struct ToolSetting {
  // Variables besides PATH, the sanitizers' options and CUDA_HOME (cuda_root()). No other variable
  // of the user reaches the tool.
  std::vector<std::pair<std::string, std::string>> environment;
  std::optional<unsigned> user;  // run as this user; needs root
  bool stderr_is_terminal = false;
  std::filesystem::path executable;  // empty: the built one
  std::string stdout_file;           // stdout goes here instead of a pipe, such as /dev/full
  std::filesystem::path folder;      // the working directory; empty: the current one
  int signal = SIGINT;               // the signal for the fields below
  // Sends the signal once this text appears on stderr.
  std::string interrupt_after;
  // The delays of the signals in milliseconds: the first counts from the start, each further one
  // from the previous one.
  std::vector<int> interrupt_milliseconds;
};

// Runs the built executable without a shell and waits for its end.
ToolResult run_tool(const std::vector<std::string>& arguments, const ToolSetting& setting = {});

const char* tool_path();

// A folder with a home, for one test. The home does not exist until the tool creates it.
class Sandbox {
 public:
  std::filesystem::path home() const { return folder_ / "home"; }
  std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }
  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  void write(std::string_view name, std::string_view content) const;
  std::string read(std::string_view name) const;

  // Runs the tool with --home.
  ToolResult run(std::vector<std::string> arguments, const ToolSetting& setting = {}) const;

 private:
  TempDir folder_;
};

}  // namespace cubinet::test
