// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "bench_cases.hpp"
#include "bench_setting.hpp"
#include "interrupt.hpp"
#include "verbs.hpp"

#include <cubinet/session/benchmark.hpp>
#include <cubinet/session/output_file.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>

namespace cubinet::cli {
namespace {

struct BenchArguments {
  BenchCase given;
  std::string sweep;
  std::string csv;
  std::uint32_t sample = 0;
  bool lists = false;
  bool alternatives = false;
  BenchSetting setting;
};

Result<std::vector<BenchmarkCase>> cases_of(const Context& context, const BenchArguments& arguments) {
  if (arguments.sample > 0) return sample_cases(arguments.sample, arguments.setting.seed);
  if (!arguments.sweep.empty()) return cases_of_sweep(context, arguments.sweep);
  if (arguments.given.problem.kv_len == 0 || arguments.given.problem.heads_q == 0) {
    return Error{ErrorCode::invalid_argument, "there is nothing to measure",
                 "give --kv-len and --heads-q, a --sweep or a --sample"};
  }
  CUBINET_TRY_ASSIGN(BenchmarkCase given, benchmark_case_of(arguments.given));
  return std::vector<BenchmarkCase>{std::move(given)};
}

ExitStatus list_sample(const Context& context, const std::vector<BenchmarkCase>& cases) {
  nlohmann::json lines = nlohmann::json::array();
  for (const BenchmarkCase& drawn : cases) {
    lines.push_back(to_sweep_line(drawn));
    context.console().text(to_sweep_line(drawn));
  }
  context.console().document({{"sample", std::move(lines)}});
  return ExitStatus::done;
}

Result<ExitStatus> bench_attention(const Context& context, const BenchArguments& arguments) {
  CUBINET_TRY_ASSIGN(std::vector<BenchmarkCase> cases, cases_of(context, arguments));
  CUBINET_TRY_ASSIGN(BenchmarkOptions options, benchmark_options_of(context, arguments.setting));
  options.cases = std::move(cases);
  options.alternatives = arguments.alternatives;
  if (arguments.lists) return list_sample(context, options.cases);
  CUBINET_TRY(check_peer_folder(context, arguments.setting));
  std::filesystem::path csv;
  if (!arguments.csv.empty()) {
    CUBINET_TRY_ASSIGN(
        csv, check_output_file(*context.files(), arguments.csv, context.protected_files({arguments.sweep})));
  }
  std::optional<Error> not_written;
  options.progress = [&](const BenchmarkProgress& progress) {
    for (const BenchmarkRow& row : progress.latest)
      context.console().text(to_line(row));
    if (csv.empty()) return;
    // A sweep may take an hour, so the file is written after each case. A later write may succeed.
    const auto written =
        write_file_atomically(*context.files(), csv, as_bytes(to_csv(progress.rows, options.seed)));
    not_written = written ? std::nullopt : std::optional(written.error());
  };
  const InterruptGuard interrupt(InterruptGuard::First::ends);  // instead of NVRTC's handler
  CUBINET_TRY_ASSIGN(const auto session,
                     context.session(arguments.setting.places, HomeOptions::Access::read_write));
  CUBINET_TRY_ASSIGN(const BenchmarkResult result, benchmark(*session, options));
  for (const std::string& summary : {summary_of_goals(result.rows), summary_of_alternatives(result.rows)})
    if (!summary.empty()) context.console().text(summary);
  context.console().document_text(to_json(result));
  if (not_written) return *std::move(not_written);
  return result.good() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_bench(CLI::App& root, Action& chosen) {
  CLI::App* bench = root.add_subcommand("bench", "Measure an operation on a GPU");
  bench->require_subcommand(0, 1);
  bench->footer("Example:\n  cubinet bench attention --batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8");
  CLI::App* verb =
      bench->add_subcommand("attention", "Attention: time, operations and bytes a second, checked");
  auto options = std::make_shared<BenchArguments>();
  add_bench_case_arguments(*verb, options->given);
  const std::vector<CLI::Option*> of_a_case = verb->get_options([](const CLI::Option* option) {
    return option->get_name() != "--help" && option->get_name() != "-h,--help";
  });
  CLI::Option* sweep =
      verb->add_option("--sweep", options->sweep, "Cases from a file, instead of the one of the line")
          ->type_name("FILE");
  CLI::Option* sample = add_integer(*verb, "--sample", options->sample, 1, 10'000,
                                    "Draw this many cases of serving, the same for the same --seed");
  sample->excludes(sweep);
  for (CLI::Option* option : of_a_case) {
    option->required(false);
    sweep->excludes(option);
    sample->excludes(option);
  }
  verb->add_flag("--list", options->lists, "Only print the sample, as a file for --sweep")->needs(sample);
  verb->add_flag(
      "--alternatives", options->alternatives,
      "Time other kernels and splits too, without a shared prefix, and state how far the plan is behind the "
      "best");
  add_text(*verb, "--csv", options->csv, "FILE", "Write the results as a table too");
  add_bench_setting(*verb, options->setting);
  verb->footer(
      R"(Each round times a CUDA graph of 20 runs over copies of K and V that no L2 holds, and beside it a kernel that only
reads as many bytes. Before, every row of the output is compared with attention in double precision. Status 1 where one
is off, or a case cannot be run or compared: its row says why, and the others are measured all the same.

Examples:
  cubinet bench attention --batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8
  cubinet bench attention --batch 32 --kv-len 131072 --kv-lengths 131072:1024 --lengths-unknown --heads-q 64 --heads-kv 8
  cubinet bench attention --sweep bench/sweeps/speculative.txt --csv speculative.csv
  cubinet bench attention --sample 60 --seed 7 --alternatives --json
  cubinet bench attention --sweep bench/sweeps/decode.txt --peer "FlashInfer=python3 bench/peers/attention_peer.py flashinfer")");
  choose<BenchArguments>(*verb, chosen, options, bench_attention);
  add_bench_invariance(*bench, chosen);
}

}  // namespace cubinet::cli
