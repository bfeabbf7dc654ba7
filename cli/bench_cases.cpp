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
void add_bench_case_arguments(CLI::App& verb, BenchCase& arguments) {
  add_operation_argument(verb, arguments.problem);
  add_attention_arguments(verb, arguments.problem);
  add_text(verb, "--kv-lengths", arguments.kv_lengths, "LIST",
           "Tokens of each sequence, 131072:1024; the last one for the rest (default: --kv-len)");
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

Result<std::vector<std::int32_t>> kv_lengths_of(const BenchCase& given, const AttentionProblem& problem) {
  std::vector<std::int32_t> lengths;
  std::string_view rest = given.kv_lengths;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    CUBINET_TRY_ASSIGN(const std::int64_t length,
                       parse_integer(rest.substr(0, end), "--kv-lengths", 0, problem.kv_len));
    lengths.push_back(static_cast<std::int32_t>(length));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (lengths.size() > problem.batch) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--kv-lengths: {} lengths for a batch of {}", lengths.size(), problem.batch),
                 "give --batch, or fewer lengths"};
  }
  lengths.resize(problem.batch, lengths.empty() ? static_cast<std::int32_t>(problem.kv_len) : lengths.back());
  return lengths;
}

Result<BenchmarkCase> benchmark_case_of(const BenchCase& given) {
  BenchmarkCase made;
  CUBINET_TRY_ASSIGN(made.problem, attention_problem_of(given.problem));
  CUBINET_TRY_ASSIGN(made.kv_lengths, kv_lengths_of(given, made.problem));
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
