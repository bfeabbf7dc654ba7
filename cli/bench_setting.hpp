// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"
#include "places.hpp"

#include <cubinet/session/benchmark.hpp>

#include <CLI/App.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet::cli {

// The options of the verbs of `bench`, other than their cases.
struct BenchSetting {
  std::vector<std::string> peers;  // NAME=COMMAND
  std::string peer_inputs;
  int iterations = 20;
  int device = 0;
  std::uint64_t seed = 1;
  Places places;
};

void add_bench_setting(CLI::App& verb, BenchSetting& setting);

// Returns the options of the library, without cases. The message of invalid_argument names the
// wrong option.
Result<BenchmarkOptions> benchmark_options_of(const Context& context, const BenchSetting& setting);
// Returns an error if the folder of --peer-inputs is given and cannot be written.
Result<void> check_peer_folder(const Context& context, const BenchSetting& setting);
// Returns the cases of a sweep file.
Result<std::vector<BenchmarkCase>> cases_of_sweep(const Context& context, const std::string& file);

}  // namespace cubinet::cli
