// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/log_json.hpp>
#include <cubinet/session/session_options.hpp>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A copy of a process's environment variables. A variable that is set to the empty string counts as
// unset. Immutable and thread-safe.
class EnvironmentVariables {
 public:
  EnvironmentVariables() = default;  // no variable is set
  // Copies `variables`, which are NAME=value and end with a null pointer, as `environ` does.
  explicit EnvironmentVariables(const char* const* variables);
  explicit EnvironmentVariables(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  std::optional<std::string> find(std::string_view name) const;
  // Returns the first of these names that is set.
  std::optional<std::string> find_first(std::initializer_list<std::string_view> names) const;
  const std::vector<std::string>& lines() const { return lines_; }  // NAME=value

 private:
  std::vector<std::string> lines_;
};

// The folder that the environment names for the home, and the variable that named it. Both are
// empty if no variable names one.
struct EnvironmentHome {
  std::string folder;
  std::string variable;
};
EnvironmentHome home_from(const EnvironmentVariables& environment);

// Returns the policy that `text` names: "on_miss" or "never". `name` is the option or variable in
// the error (invalid_argument).
Result<CompilePolicy> parse_compile_policy(std::string_view name, std::string_view text);

// Returns the format that `text` names: "text" or "json". `name` is as above.
Result<LogFormat> parse_log_format(std::string_view name, std::string_view text);
// Returns the format that CUBINET_LOG_FORMAT names; text if it is not set. Only front ends that
// write a log themselves, as the command does, read it.
Result<LogFormat> log_format_from(const EnvironmentVariables& environment);

// Returns the options that the environment sets. Options that it does not mention keep their
// defaults. The home is not required, because a home by default may be one that cannot be written
// (SessionOptions::home_required). Returns invalid_argument for a value that its variable does not
// take.
//
//   CUBINET_HOME               the home
//   XDG_CACHE_HOME, HOME       without CUBINET_HOME, the home is `cubinet` in the cache folder;
//                              a relative XDG_CACHE_HOME is ignored
//   CUBINET_SITE_HOMES         read-only homes, separated by ':'
//   CUBINET_COMPILE            "on_miss" or "never"
//   CUBINET_RECORD             the folder in which the Session records its workload
//   XDG_RUNTIME_DIR            its folder `cubinet` has the index of a home on a network file
//                              system
//   CUDA_HOME, CUDA_PATH       toolkits that are searched for NVRTC first
//   CUBINET_CUDA_WHEELS        folders of NVIDIA's wheels, separated by ':', searched next
//   https_proxy, all_proxy     the proxy, lower case before upper case; no_proxy its exceptions
//   AWS_*                      S3 credentials, region, profile and files, as AWS's own tools read
//                              them
//   DOCKER_CONFIG, HOME, PATH  registry credentials and their helpers, as docker finds them
Result<SessionOptions> session_options_from(const EnvironmentVariables& environment);

// Return NAME=value for the environment of another process: of the variable for
// SessionOptions::record_folder, and of the one that tells the Python package's cache manager which
// folder of Triton was filled.
std::string record_variable(const std::string& folder);
std::string triton_cache_variable(const std::string& folder);

}  // namespace cubinet
