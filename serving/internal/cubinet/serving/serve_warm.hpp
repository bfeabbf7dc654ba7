// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/adoption/cache_watch.hpp>
#include <cubinet/base/callback.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/session/environment.hpp>
#include <cubinet/session/session_options.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The entries of caches that serve_warm() has put and adopted, by tool.
struct ServeWarmReport {
  struct Counts {
    std::uint64_t put = 0;       // written into the caches
    std::uint64_t present = 0;   // in the caches already
    std::uint64_t left_out = 0;  // not put: for another device, damaged, or host code without a signature
    std::uint64_t adopted = 0;   // new in the home
  };
  std::map<std::string, Counts> tools = {};
  std::vector<std::string> devices = {};  // that entries were put for: "9.0"
  bool ended = false;                     // if true, the command has ended and `adopted` is complete

  Counts sum() const;
};

// Returns the report's JSON on one line: the devices and the counts of each tool.
std::string to_json(const ServeWarmReport& report);
// Returns the report for people: what was put, or after the end what was adopted.
std::string to_text(const ServeWarmReport& report);

// A plain value.
struct ServeWarmOptions {
  // The bundles, then the home and the site homes are the stores that entries come from. New
  // entries are adopted into the home.
  SessionOptions session = {};
  std::vector<std::string> command = {};         // the program, searched in PATH, and its arguments
  EnvironmentVariables environment = {};         // of the command, and for tool_caches()
  std::vector<ToolCache> caches = {};            // instead of the tool's own (tool_caches)
  std::optional<ComputeCapability> device = {};  // nullopt: the machine's
  // The workload that the command's Sessions are recorded into. Empty: nothing is recorded.
  std::string workload = {};
  // If true, stdin and stdout of this process are the command's alone: they are replaced by the
  // null device when it has started.
  bool releases_streams = false;
  // Called in a child process before the command starts, and when it has ended.
  Callback<void(const ServeWarmReport&)> report = {};

  std::chrono::milliseconds start_limit = std::chrono::minutes(5);  // for putting entries
  std::chrono::milliseconds end_limit = std::chrono::seconds(10);   // for adopting after the end
  std::chrono::milliseconds interval = std::chrono::seconds(30);    // of adopting meanwhile
  std::chrono::seconds rest = std::chrono::minutes(1);  // an entry is adopted this long after its last change
};

// Puts the entries that the stores hold for the devices into the caches of Triton, DeepJIT and
// cuda.core, runs the command (supervise() states how), and adopts the entries that are new in the
// caches: those at rest while it runs, all finished ones after its end. Returns the command's exit
// status. A failure of this work is logged, and never keeps the command from running.
//
// Host code is put from bundles with trusted signatures only. The command gets two more variables:
// the first folder of Triton for the Python package's cache manager, and the folder to record into.
// Several may share home, caches and workload. Returns invalid_argument for an empty command, an
// unknown tool or a cache without a folder.
Result<int> serve_warm(const ServeWarmOptions& options);

}  // namespace cubinet
