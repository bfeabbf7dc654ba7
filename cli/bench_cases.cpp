// SPDX-License-Identifier: Apache-2.0
#include "bench_cases.hpp"

#include "arguments.hpp"
#include "option_lines.hpp"

#include <cubinet/session/error_place.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

// Returns the lengths of an option's list, at most one for each sequence.
Result<std::vector<std::int32_t>> lengths_of_list(std::string_view list, const char* option,
                                                  std::uint32_t most, std::uint32_t batch) {
  std::vector<std::int32_t> lengths;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    CUBINET_TRY_ASSIGN(const std::int64_t length, parse_integer(list.substr(0, end), option, 0, most));
    lengths.push_back(static_cast<std::int32_t>(length));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  if (lengths.size() <= batch) return lengths;
  return Error{ErrorCode::invalid_argument,
               fmt::format("{}: {} lengths for a batch of {}", option, lengths.size(), batch),
               "give --batch, or fewer lengths"};
}

}  // namespace

void add_bench_case_arguments(CLI::App& verb, BenchCase& arguments) {
  add_operation_argument(verb, arguments.problem);
  add_attention_arguments(verb, arguments.problem);
  add_text(verb, "--kv-lengths", arguments.kv_lengths, "LIST",
           "Tokens of each sequence, 131072:1024; the last one for the rest (default: --kv-len)");
  add_q_lengths(verb, arguments.q_lengths);
  verb.add_flag("--lengths-unknown", arguments.lengths_unknown,
                "The plan is made without the lengths, as for a CUDA graph");
  verb.add_option("--backend", arguments.backends, "auto (default), templates, published; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  verb.add_flag("--programmatic-launch", arguments.programmatic_launch,
                "Runs may start before the one ahead of them ends");
  add_rules(verb, arguments.rules);
  add_integer(verb, "--splits", arguments.splits, 1, 256, "KV splits of a sequence (default: as planned)");
  verb.add_option("--goal", arguments.goals,
                  "To be reached: read:SHARE, us:NUMBER, teraflops:NUMBER, row:TAG:RATIO, peer:NAME:RATIO, "
                  "error:NAME:RATIO; may be repeated")
      ->allow_extra_args(false)
      ->type_name("GOAL");
  add_text(verb, "--tag", arguments.tag, "TEXT", "A name for the case, in the results");
}

void add_q_lengths(CLI::App& verb, std::string& lengths) {
  add_text(verb, "--q-lengths", lengths, "LIST",
           "Query tokens of each sequence, with --ragged-q; the last one for the rest (default: random)");
}

Result<std::vector<std::int32_t>> kv_lengths_of(const BenchCase& given, const AttentionProblem& problem) {
  CUBINET_TRY_ASSIGN(std::vector<std::int32_t> lengths,
                     lengths_of_list(given.kv_lengths, "--kv-lengths", problem.kv_len, problem.batch));
  lengths.resize(problem.batch, lengths.empty() ? static_cast<std::int32_t>(problem.kv_len) : lengths.back());
  return lengths;
}

Result<std::vector<std::int32_t>> q_lengths_of(const std::string& given, const AttentionProblem& problem) {
  CUBINET_TRY_ASSIGN(std::vector<std::int32_t> lengths,
                     lengths_of_list(given, "--q-lengths", problem.q_len, problem.batch));
  if (lengths.empty()) return lengths;
  if (!problem.ragged_q) return Error{ErrorCode::invalid_argument, "--q-lengths needs --ragged-q"};
  lengths.resize(problem.batch, lengths.back());
  if (std::any_of(lengths.begin(), lengths.end(), [](std::int32_t length) { return length > 0; }))
    return lengths;
  return Error{ErrorCode::invalid_argument, "--q-lengths: no sequence has a query token",
               "give at least one sequence a token"};
}

Result<BenchmarkCase> benchmark_case_of(const BenchCase& given) {
  BenchmarkCase made;
  CUBINET_TRY_ASSIGN(made.problem, attention_problem_of(given.problem));
  CUBINET_TRY_ASSIGN(made.kv_lengths, kv_lengths_of(given, made.problem));
  CUBINET_TRY_ASSIGN(made.q_lengths, q_lengths_of(given.q_lengths, made.problem));
  made.shared_prefix = given.problem.shared_prefix;
  made.lengths_unknown = given.lengths_unknown;
  made.starts_early = given.programmatic_launch;
  made.splits = given.splits;
  if (!given.rules.empty()) made.rules = given.rules;
  made.backends = given.backends;
  made.goals = given.goals;
  made.tag = given.tag;
  made.where = given.where;
  return made;
}

std::string to_sweep_line(const BenchmarkCase& one) {
  const AttentionProblem& problem = one.problem;
  std::string line =
      fmt::format("--tag {} --batch {} --kv-len {} --heads-q {} --heads-kv {} --page-size {}", one.tag,
                  problem.batch, problem.kv_len, problem.heads_q, problem.heads_kv, problem.tokens_per_page);
  if (problem.is_mla_generation())
    line += " --op mla-decode";
  else
    line += fmt::format(" --head-dim-qk {}", problem.head_dim_qk);
  if (problem.q_len > 1) line += fmt::format(" --q-len {}", problem.q_len);
  if (problem.data_type_q != DataType::bf16)
    line += fmt::format(" --dtype-q {} --dtype-o {}", to_string(problem.data_type_q),
                        to_string(problem.data_type_o));
  if (problem.data_type_k != problem.data_type_q)
    line += fmt::format(" --dtype-kv {}", to_string(problem.data_type_k));
  if (problem.sinks) line += " --sinks";
  if (one.lengths_unknown) line += " --lengths-unknown";
  if (!one.kv_lengths.empty()) line += fmt::format(" --kv-lengths {}", fmt::join(one.kv_lengths, ":"));
  return line;
}

Result<std::vector<BenchCase>> parse_sweep(std::string_view text, const std::string& file) {
  CUBINET_TRY_ASSIGN(const std::vector<OptionLine> lines, parse_option_lines(text, file));
  std::vector<BenchCase> cases;
  for (const OptionLine& line : lines) {
    CLI::App options;
    add_bench_case_arguments(options, cases.emplace_back());
    cases.back().where = line.where;
    CUBINET_TRY(parse_options(options, line));
    if (auto checked = benchmark_case_of(cases.back()); !checked)
      return with_place(std::move(checked).error(), line.where);
  }
  return cases;
}

}  // namespace cubinet::cli
