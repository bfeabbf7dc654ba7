// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention_arguments.hpp"

#include <cubinet/attention/operation.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace cubinet::test {

// A recorded launch (goldens/README.md): the problem as the tool's options say it, and what was
// handed over.
struct GoldenLaunch {
  std::string id;
  cli::AttentionArguments arguments;
  bool starts_early = true;
  nlohmann::json record;

  bool was_launched() const { return record["error"].is_null(); }
};
std::vector<GoldenLaunch> golden_launches(const std::string& name);
// Where they lie: CUBINET_TEST_GOLDENS, or the source tree that was built.
std::string goldens_folder();

// The rows of a version's metadata header as `select --table` gives them, with the pin of the real
// header.
AvailableKernels golden_kernels(const std::string& version, ComputeCapability device);

}  // namespace cubinet::test
