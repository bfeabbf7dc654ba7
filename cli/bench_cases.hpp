// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention_arguments.hpp"

#include <cubinet/session/benchmark.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::cli {

// What `bench attention` measures at a time, as options say it.
struct BenchCase {
  AttentionArguments problem;
  std::string tag;                    // of the caller's, for its tables
  std::vector<std::string> backends;  // empty: auto
  std::string kv_lengths;  // "131072:1024": the last stands for the rest of the batch; empty: all --kv-len
  bool lengths_unknown = false;  // the plan is not told them
  bool programmatic_launch = false;
  std::uint32_t splits = 0;        // 0: as planned
  std::vector<std::string> goals;  // what the case is to reach (BenchmarkCase::goals)
  std::string where;               // "'FILE', line 3" of a sweep; empty: the command's own options
};

void add_bench_case_arguments(CLI::App& verb, BenchCase& arguments);

// Returns the lengths of --kv-lengths, one for each sequence. invalid_argument names the option.
Result<std::vector<std::int32_t>> kv_lengths_of(const BenchCase& given, const AttentionProblem& problem);
// Returns the case as the library measures it. invalid_argument names what is wrong.
Result<BenchmarkCase> benchmark_case_of(const BenchCase& given);

// The cases of a sweep's file, in the options of a case (option_lines.hpp). invalid_argument names
// the line of one that is no problem.
Result<std::vector<BenchCase>> parse_sweep(std::string_view text, const std::string& file);

}  // namespace cubinet::cli
