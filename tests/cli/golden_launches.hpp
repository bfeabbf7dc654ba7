// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention_arguments.hpp"

#include <cubinet/attention/operation.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace cubinet::test {

// A recorded launch (goldens/README.md): the problem as tool options, and the data that was handed
// to the driver.
struct GoldenLaunch {
  std::string id;
  cli::AttentionArguments arguments;
  bool starts_early = true;
  nlohmann::json record;

  bool was_launched() const { return record["error"].is_null(); }
};
std::vector<GoldenLaunch> golden_launches(const std::string& name);
// Returns the folder of the recorded launches: CUBINET_TEST_GOLDENS, or the folder in the source
// tree that was built.
std::string goldens_folder();

// Returns the rows of a version's metadata header as `select --table` prints them, with the pin of
// the real header.
AvailableKernels golden_kernels(const std::string& version, ComputeCapability device);

}  // namespace cubinet::test
