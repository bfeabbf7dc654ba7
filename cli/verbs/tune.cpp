// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "bench_cases.hpp"
#include "interrupt.hpp"
#include "option_lines.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/attention_json.hpp>
#include <cubinet/session/output_file.hpp>
#include <cubinet/session/tune.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

namespace cubinet::cli {
namespace {

struct TuneArguments {
  AttentionArguments problem;
  std::string sweep;
  std::string output;
  std::vector<std::string> merge;
  bool show = false;
  bool dry_run = false;
  std::uint32_t budget = 10;  // seconds for each problem
  int device = 0;
  Places places;
};

std::string choice_of(const TuningTable::Row& row) {
  std::string choice = printable(row.backend);
  if (!row.kernel.name.empty()) choice += ": " + printable(row.kernel.to_string());
  if (row.splits != 0) choice += ", " + plural(row.splits, "KV split");
  return choice;
}

std::string line_of(const TuningTable::Row& row) {
  const double modelled = row.modelled_microseconds;
  const double gain = modelled > 0 ? 100 * (1 - row.microseconds / modelled) : 0;
  return fmt::format("{}, batch {}, kv_len {}: {:.1f} us, {:.1f} as modelled ({:.1f} % less), {}",
                     printable(row.problem), row.batch, row.kv_len, row.microseconds,
                     row.modelled_microseconds, gain, choice_of(row));
}

// Prints the measurements of the home and the other places, or those of a file that --output wrote.
Result<ExitStatus> show_measured(const Context& context, const TuneArguments& arguments) {
  CUBINET_TRY_ASSIGN(const auto session, context.session(arguments.places, HomeOptions::Access::read_only));
  CUBINET_TRY_ASSIGN(const Measurements measured, list_measurements(*session, arguments.output));
  const auto& rows = measured.table.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool stale = std::binary_search(measured.stale.begin(), measured.stale.end(), i);
    context.console().text(fmt::format("{}{}; {}", line_of(rows[i]), stale ? ", of another version" : "",
                                       printable(rows[i].device)));
  }
  context.console().text(fmt::format("{}, {} of another version of its kernel, sha256:{}",
                                     plural(rows.size(), "measurement"), measured.stale.size(),
                                     measured.table.digest().to_hex()));
  context.console().document_text(to_json(measured));
  return ExitStatus::done;
}

// Returns the checked file that rows are merged into. Empty: the home, which must then be named.
Result<std::string> table_file_of(const Context& context, const TuneArguments& arguments) {
  if (arguments.output.empty()) {
    CUBINET_TRY(context.home());
    return std::string();
  }
  std::vector<std::string> inputs = arguments.merge;
  if (!arguments.sweep.empty()) inputs.push_back(arguments.sweep);
  CUBINET_TRY_ASSIGN(
      const std::filesystem::path file,
      check_output_file(*context.files(), arguments.output, context.protected_files(std::move(inputs))));
  return file.string();
}

Result<ExitStatus> merge_tables(const Context& context, const TuneArguments& arguments) {
  CUBINET_TRY_ASSIGN(const std::string file, table_file_of(context, arguments));
  CUBINET_TRY_ASSIGN(const MergedMeasurements merged,
                     merge_measurements(context.session_options(), arguments.merge, file));
  context.console().text(
      fmt::format("{}: {} merged", printable(merged.place), plural(merged.merged, "measurement")));
  context.console().document_text(to_json(merged));
  return ExitStatus::done;
}

Result<std::vector<TuneProblem>> problems_of(const Context& context, const TuneArguments& arguments) {
  std::vector<BenchCase> cases(1);
  cases.front().problem = arguments.problem;
  if (!arguments.sweep.empty()) {
    CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(arguments.sweep, kMaximumOptionFile));
    CUBINET_TRY_ASSIGN(cases, parse_sweep(as_text(text), arguments.sweep));
  } else if (arguments.problem.kv_len == 0 || arguments.problem.heads_q == 0) {
    return Error{ErrorCode::invalid_argument, "there is nothing to measure",
                 "give --kv-len and --heads-q, or a --sweep; --show prints what was measured"};
  }
  std::vector<TuneProblem> problems;
  for (const BenchCase& given : cases) {
    CUBINET_TRY_ASSIGN(AttentionProblem problem, attention_problem_of(given.problem));
    problems.push_back({std::move(problem), given.where, given.problem.shared_prefix});
  }
  return problems;
}

Result<ExitStatus> list_candidates(const Context& context, const Session& session,
                                   const TuneOptions& options) {
  CUBINET_TRY_ASSIGN(const std::vector<TuneCandidates> listed, tune_candidates(session, options));
  bool good = true;
  for (const TuneCandidates& candidates : listed) {
    if (candidates.error) context.console().error(*candidates.error);
    good = good && !candidates.error;
    for (const AttentionPlan& plan : candidates.plans) {
      // Several kernels have the same tile. They differ in their stages, for example.
      const auto* kernel = std::get_if<KernelSpec>(&plan.steps[plan.attention_step()].kernel);
      context.console().text(summary_of(plan) +
                             (kernel == nullptr ? std::string() : ", " + printable(kernel->to_string())));
    }
  }
  context.console().document_text(to_json(listed));
  return good ? ExitStatus::done : ExitStatus::negative;
}

void print(const Context& context, const TunedProblem& tuned, bool warns) {
  if (tuned.error) return context.console().error(*tuned.error);
  if (tuned.not_kept && warns) context.console().message(LogLevel::warning, tuned.not_kept->to_line());
  context.console().text(fmt::format("{}; {} in {:.1f} s", line_of(*tuned.row),
                                     plural(tuned.row->candidates, "candidate"), tuned.seconds));
}

Result<ExitStatus> tune_problems(const Context& context, const TuneArguments& arguments) {
  if (arguments.output == "-") {
    return Error{ErrorCode::invalid_argument, "--output: a table is merged into a file, and '-' is none",
                 "name a file; ./- if that is its name"};
  }
  if (arguments.show) return show_measured(context, arguments);
  if (!arguments.merge.empty()) return merge_tables(context, arguments);
  TuneOptions options;
  CUBINET_TRY_ASSIGN(options.problems, problems_of(context, arguments));
  options.device = arguments.device;
  options.budget_seconds = arguments.budget;
  std::optional<Error> not_kept;
  options.progress = [&](const TuneProgress& progress) {
    print(context, progress.latest, /*warns=*/!not_kept);
    if (progress.latest.not_kept) not_kept = progress.latest.not_kept;
  };
  const InterruptGuard interrupt(InterruptGuard::First::ends);  // instead of NVRTC's handler
  CUBINET_TRY_ASSIGN(const auto session, context.session(arguments.places, HomeOptions::Access::read_write));
  if (arguments.dry_run) return list_candidates(context, *session, options);
  CUBINET_TRY_ASSIGN(options.table_file, table_file_of(context, arguments));
  CUBINET_TRY_ASSIGN(const TuneResult result, tune(*session, options));
  const auto measured = std::count_if(result.problems.begin(), result.problems.end(),
                                      [](const TunedProblem& tuned) { return tuned.row.has_value(); });
  context.console().text(fmt::format("{}: {}{} in {:.1f} s", printable(result.place),
                                     result.complete() ? "" : fmt::format("{} of ", measured),
                                     plural(result.problems.size(), "problem"), result.seconds));
  if (not_kept) return context.fail_with(*not_kept, nlohmann::json::parse(to_json(result)));
  context.console().document_text(to_json(result));
  return result.complete() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_tune(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("tune", "Measure which kernels are fastest on a GPU, for later plans");
  auto options = std::make_shared<TuneArguments>();
  add_operation_argument(*verb, options->problem);
  add_attention_arguments(*verb, options->problem);
  const std::vector<CLI::Option*> of_a_problem = verb->get_options([](const CLI::Option* option) {
    return option->get_name() != "--help" && option->get_name() != "-h,--help";
  });
  CLI::Option* sweep =
      verb->add_option("--sweep", options->sweep, "Problems from a file, instead of the one of the line")
          ->type_name("FILE");
  for (CLI::Option* option : of_a_problem) {
    option->required(false);
    sweep->excludes(option);
  }
  CLI::Option* shown = verb->add_flag("--show", options->show, "Print what was measured; measure nothing");
  CLI::Option* merged = add_list(*verb, "--merge", options->merge, "FILE",
                                 "Merge the table of a file into the home's; measure nothing");
  shown->excludes(sweep)->excludes(merged);
  merged->excludes(sweep);
  // These options measure no problem, and a problem does not filter their output.
  for (CLI::Option* option : of_a_problem) {
    shown->excludes(option);
    merged->excludes(option);
  }
  CLI::Option* dry = verb->add_flag("--dry-run", options->dry_run, "Print what would be measured");
  dry->excludes(shown)->excludes(merged);
  add_text(*verb, "-o,--output", options->output, "FILE",
           "A table to merge into, instead of the home's; with --show, to print");
  add_integer(*verb, "--budget", options->budget, 1, 86'400, "Seconds for a problem, about (default: 10)");
  add_integer(*verb, "--device", options->device, 0, 1023, "The GPU's number (default: 0)");
  add_places(*verb, options->places);
  add_written_cache(*verb, options->places);
  verb->footer(
      R"(Kernels that do not exist are compiled and kept. Each candidate is timed in a CUDA graph over copies of K and V that
no L2 holds. Plans that are made with the home, or with a bundle that has the table, then take what was fastest.

Examples:
  cubinet tune --batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8
  cubinet tune --sweep bench/sweeps/decode.txt --budget 5 -o h200.tuning
  cubinet tune --merge h200.tuning
  cubinet tune --show)");
  choose<TuneArguments>(*verb, chosen, options, tune_problems);
}

}  // namespace cubinet::cli
