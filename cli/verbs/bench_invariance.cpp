// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "attention_arguments.hpp"
#include "bench_setting.hpp"
#include "interrupt.hpp"
#include "verbs.hpp"

#include <cubinet/session/invariance.hpp>

#include <algorithm>

namespace cubinet::cli {
namespace {

struct InvarianceArguments {
  AttentionArguments problem;
  std::string sweep;
  BenchSetting setting;
};

Result<std::vector<BenchmarkCase>> cases_of(const Context& context, const InvarianceArguments& arguments) {
  if (!arguments.sweep.empty()) return cases_of_sweep(context, arguments.sweep);
  AttentionArguments problem = arguments.problem;
  if (problem.kv_len == 0 && problem.heads_q == 0) {
    // A prompt of a model with 8 billion parameters, whose length is no multiple of a tile or a
    // segment.
    problem.kv_len = 4243;
    problem.heads_q = 32;
    if (problem.heads_kv == 0) problem.heads_kv = 8;
    if (problem.batch == 0) problem.batch = 8;
  } else if (problem.kv_len == 0 || problem.heads_q == 0) {
    return Error{ErrorCode::invalid_argument, "there is nothing to compare",
                 "give both --kv-len and --heads-q, a --sweep, or none of them"};
  }
  problem.batch = std::max(problem.batch, 1U);
  BenchmarkCase given;
  CUBINET_TRY_ASSIGN(given.problem, attention_problem_of(problem));
  return std::vector<BenchmarkCase>{std::move(given)};
}

Result<ExitStatus> bench_invariance(const Context& context, const InvarianceArguments& arguments) {
  CUBINET_TRY_ASSIGN(BenchmarkOptions options, benchmark_options_of(context, arguments.setting));
  CUBINET_TRY_ASSIGN(options.cases, cases_of(context, arguments));
  CUBINET_TRY(check_peer_folder(context, arguments.setting));
  const InterruptGuard interrupt(InterruptGuard::First::ends);  // instead of NVRTC's handler
  CUBINET_TRY_ASSIGN(const auto session,
                     context.session(arguments.setting.places, HomeOptions::Access::read_write));
  const auto print = [&](const InvarianceRow& row) { context.console().text(to_lines(row)); };
  CUBINET_TRY_ASSIGN(const InvarianceResult result, compare_bits(*session, options, print));
  context.console().document_text(to_json(result));
  return result.good() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_bench_invariance(CLI::App& bench, Action& chosen) {
  CLI::App* verb =
      bench.add_subcommand("invariance", "Attention: whether rows keep their bits, and at what price");
  auto options = std::make_shared<InvarianceArguments>();
  options->problem.batch = 0;  // not given
  add_attention_arguments(*verb, options->problem);
  const std::vector<CLI::Option*> of_a_case = verb->get_options(
      [](const CLI::Option* option) { return option->get_name().find("--help") == std::string::npos; });
  CLI::Option* sweep =
      add_text(*verb, "--sweep", options->sweep, "FILE", "Problems from a file of `bench attention`");
  for (CLI::Option* option : of_a_case) {
    option->required(false);
    sweep->excludes(option);
  }
  add_bench_setting(*verb, options->setting);
  verb->footer(
      R"(Prefills a prompt of --kv-len tokens whole, then in chunks, over other pages, beside other sequences, by
verification and by decode, with invariant and with fast numerics and by each --peer (which needs --peer-inputs),
and compares the rows by memcmp. Then times the prompt, its last chunk, and a step of verification and of decode of
--batch sequences. Without --kv-len and --heads-q: 4243 tokens and 32 query heads, and unless given 8 sequences and
8 KV heads. --q-len, --ragged-q, --lse, --numerics, --append, --shared-prefix and where KV is stored do not count.
Status 1 if invariant numerics lose a bit, a timed run is wrong, or a problem cannot be compared.

Examples:
  cubinet bench invariance
  cubinet bench invariance --batch 16 --kv-len 4096 --heads-q 64 --heads-kv 8 --head-dim-qk 64
  cubinet bench invariance --sweep bench/sweeps/invariant.txt --json)");
  choose<InvarianceArguments>(*verb, chosen, options, bench_invariance);
}

}  // namespace cubinet::cli
