// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/target_policy.hpp>

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// --prefer family --forbid TARGET[,…] --pin TARGET, the options of verbs that choose between
// targets.
struct TargetOptions {
  std::string prefer;
  std::vector<std::string> forbid;
  std::string pin;
};

void add_target_options(CLI::App& verb, TargetOptions& options);

// Returns invalid_argument for an unknown target, and for a target that is both pinned and
// forbidden.
Result<TargetPolicy> parse_target_policy(const TargetOptions& options);

}  // namespace cubinet::cli
