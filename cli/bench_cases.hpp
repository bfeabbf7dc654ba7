// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention_arguments.hpp"

#include <cubinet/session/benchmark.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::cli {

// The options of one case of `bench attention`.
struct BenchCase {
  AttentionArguments problem;
  std::string tag;                    // chosen by the user, for tables
  std::vector<std::string> backends;  // empty: auto
  std::string kv_lengths;        // "131072:1024": the last is repeated for the batch; empty: all --kv-len
  std::string q_lengths;         // the same of query tokens; empty: random ones with --ragged-q
  bool lengths_unknown = false;  // BenchmarkCase::lengths_unknown
  bool programmatic_launch = false;
  std::uint32_t splits = 0;        // 0: as planned
  std::string rules;               // empty: the newest that fit the rows
  std::vector<std::string> goals;  // BenchmarkCase::goals
  std::string where;               // "'FILE', line 3" of a sweep; empty: the command's own options
};

void add_bench_case_arguments(CLI::App& verb, BenchCase& arguments);

// Returns the lengths of --kv-lengths, one for each sequence. The message of invalid_argument names
// the option.
Result<std::vector<std::int32_t>> kv_lengths_of(const BenchCase& given, const AttentionProblem& problem);
// The same of --q-lengths. Returns none if the option is not given.
void add_q_lengths(CLI::App& verb, std::string& lengths);
Result<std::vector<std::int32_t>> q_lengths_of(const std::string& given, const AttentionProblem& problem);
// Returns the case as the library measures it. The message of invalid_argument names the wrong
// option.
Result<BenchmarkCase> benchmark_case_of(const BenchCase& given);

// Returns a case of sample_cases() as a line of a sweep file, without a line break.
std::string to_sweep_line(const BenchmarkCase& one);

// Returns the cases of a sweep file. Each line has the options of a case (option_lines.hpp). The
// message of invalid_argument names the line that is not a problem.
Result<std::vector<BenchCase>> parse_sweep(std::string_view text, const std::string& file);

}  // namespace cubinet::cli
