// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "attention_arguments.hpp"
#include "bench_cases.hpp"
#include "describe.hpp"
#include "interrupt.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/attention/measure.hpp>
#include <cubinet/attention/planner.hpp>
#include <cubinet/attention/reference_values.hpp>
#include <cubinet/session/checked_attention.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct RunOptions {
  AttentionArguments problem;
  std::string lengths = "uniform";
  std::string q_lengths;  // empty: random ones with --ragged-q
  int iterations = 20;
  int device = 0;
  std::uint32_t splits = 0;        // 0: as planned
  std::uint32_t split_tokens = 0;  // 0: as planned
  std::uint64_t seed = 1;
  std::string backend{kAutomaticBackend};
  std::string rules;  // empty: the newest that fit the rows
  Places places;
};

std::vector<std::int32_t> lengths_of(const RunOptions& options, const AttentionProblem& problem) {
  return make_kv_lengths(problem,
                         options.lengths == "borders" ? LengthPattern::borders : LengthPattern::uniform);
}

struct AttentionRun {
  std::string requested;  // the requested backend
  AttentionVerdict verdict;
  double seconds = 0;  // the median
  double kv_bytes = 0;
  double operations = 0;
  KernelEvent kernel;
  DeviceProperties device;
  int iterations = 0;
};

void report(const Context& context, const AttentionPlan& plan, const AttentionRun& run) {
  const KernelEvent& kernel = run.kernel;
  const AttentionDeviation& error = run.verdict.error;
  context.console().text(
      fmt::format("device     {}\nbackend    {} ({} was asked for)\n{}\nsplits     {}\nerror      {:.2e} in "
                  "the worst row, {:.2e} in all, {:.2e} in the LSE; {} ({:.0e} is "
                  "allowed)\n"
                  "time       {}, median of {} replays of {} runs\nbandwidth  {:.1f} GB/s, {} of K and V",
                  run.device.to_string(), plan.backend_name(), run.requested, loaded_lines(kernel),
                  plan.division.kv_splits, error.worst_row, error.all_rows, error.worst_lse,
                  run.verdict.correct() ? "correct" : "WRONG", run.verdict.allowed,
                  format_seconds(run.seconds), run.iterations, kRunsOfGraph,
                  run.kv_bytes / run.seconds * 1e-9, format_bytes(static_cast<std::uint64_t>(run.kv_bytes))));
  if (plan.request.problem.prefill) {
    context.console().text(fmt::format("operations {:.1f} TFLOP/s of what rows see, {:.3g} operations",
                                       run.operations / run.seconds * 1e-12, run.operations));
  }
  if (plan.request.problem.append) {
    context.console().text(fmt::format("append     rows of {}, {}; in the time, not in the bandwidth",
                                       to_string(plan.request.problem.append->data_type),
                                       run.verdict.appended ? "equal to the reference to the bit" : "WRONG"));
  }
  if (!plan.measured.empty()) context.console().text("choice     " + plan.measured);
  nlohmann::json document = describe(kernel.spec);
  document["device"] = {{"ordinal", run.device.ordinal}, {"name", run.device.name}};
  document["kernel"] = describe_loaded(kernel);
  document["requested"] = run.requested;
  document["backend"] = plan.backend_name();
  document["splits"] = plan.division.kv_splits;
  document["measured"] = plan.measured.empty() ? nlohmann::json(nullptr) : nlohmann::json(plan.measured);
  document["correct"] = run.verdict.correct();
  document["relative_error"] = {{"worst_row", error.worst_row},
                                {"all_rows", error.all_rows},
                                {"worst_lse", error.worst_lse},
                                {"allowed", run.verdict.allowed}};
  if (plan.request.problem.append) document["appended"] = run.verdict.appended;
  document["seconds"] = run.seconds;
  document["kv_bytes"] = run.kv_bytes;
  document["bytes_per_second"] = run.kv_bytes / run.seconds;
  document["operations"] = run.operations;
  context.console().document(document);
}

Result<ExitStatus> run_attention(const Context& context, const RunOptions& options) {
  // The plan does not know the lengths, as with a CUDA graph, and is thus the one that `select`
  // names.
  CUBINET_TRY_ASSIGN(const AttentionProblem problem, attention_problem_of(options.problem));
  CUBINET_TRY_ASSIGN(const std::vector<std::int32_t> q_lengths, q_lengths_of(options.q_lengths, problem));
  AttentionRun run;
  run.iterations = options.iterations;
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog({}));
  const InterruptGuard interrupt(InterruptGuard::First::ends);  // instead of NVRTC's handler
  std::size_t before = problem.append ? 1 : 0;  // kernels that are loaded before the attention kernel
  bool first = true;
  const auto observe = [&run, &before, &first](const KernelEvent& event) {
    if (before > 0) {
      --before;
    } else if (std::exchange(first, false)) {
      run.kernel = event;
    }
  };
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime(catalog, {}, observe, options.places));
  CUBINET_TRY_ASSIGN(const auto device, runtime->device(options.device));
  run.device = device->properties();
  PlanOptions plan_options;
  plan_options.backend = options.backend;
  if (!options.rules.empty()) plan_options.rules = options.rules;
  if (options.splits > 0) plan_options.splits = options.splits;
  if (options.split_tokens > 0) plan_options.split_tokens = options.split_tokens;
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner, AttentionPlanner::create(*runtime, run.device));
  CUBINET_TRY_ASSIGN(const AttentionResolution resolution, planner.resolve(problem, plan_options));
  if (!resolution.plan) return context.fail(resolution.error(), ExitStatus::negative);
  run.requested = resolution.requested;
  CUBINET_TRY_ASSIGN(const AttentionInputs inputs, inputs_in_memory(problem, lengths_of(options, problem),
                                                                    options.seed, context.jobs(), q_lengths));
  CUBINET_TRY_ASSIGN(const AttentionOutputs reference,
                     reference_of(*runtime, device, problem, inputs, context.jobs()));
  CUBINET_TRY_ASSIGN(const CheckedAttention checked,
                     run_checked(*runtime, device, *resolution.plan, inputs, reference));
  run.verdict = checked.verdict;
  const AttentionTensors tensors = checked.tensors();
  const auto record = [&](std::uint32_t, CUstream stream) { return checked.attention.run(tensors, stream); };
  CUBINET_TRY_ASSIGN(run.seconds, median_replay(device, options.iterations, record));
  const AttentionWork work = attention_work(problem, inputs.kv_lengths, inputs.q_lengths);
  run.kv_bytes = work.kv_bytes;
  run.operations = work.operations;
  report(context, checked.attention.plan(), run);
  return run.verdict.correct() ? ExitStatus::done : ExitStatus::negative;
}

void add_operation(CLI::App& run, Action& chosen, const char* operation, const std::string& summary) {
  CLI::App* verb = run.add_subcommand(operation, summary);
  auto options = std::make_shared<RunOptions>();
  options->problem.operation = operation;
  add_attention_arguments(*verb, options->problem);
  verb->add_option("--lengths", options->lengths,
                   "uniform (default), or borders: beside page and tile borders, one empty")
      ->check(CLI::IsMember({"uniform", "borders"}))
      ->type_name("PATTERN");
  add_q_lengths(*verb, options->q_lengths);
  add_integer(*verb, "--iterations", options->iterations, 1, 100'000, "Replays to time (default: 20)");
  add_integer(*verb, "--seed", options->seed, 0, INT64_MAX, "Of the random inputs (default: 1)");
  add_text(*verb, "--backend", options->backend, "NAME", "auto (default), templates or published");
  add_rules(*verb, options->rules);
  add_integer(*verb, "--splits", options->splits, 1, 256, "KV splits of a sequence (default: as planned)");
  add_integer(*verb, "--split-tokens", options->split_tokens, 1, 1U << 30U,
              "KV splits of so many tokens each, a multiple of 128 (default: as planned)");
  add_integer(*verb, "--device", options->device, 0, 1023, "The GPU's number (default: 0)");
  add_places(*verb, options->places);
  add_written_cache(*verb, options->places);
  verb->footer(fmt::format(
      R"(Compares every row with attention in double precision; status 1 when one is off, or when no backend runs the
problem. Same tensors at every launch: K and V that fit the device's cache are read from it.

Example:
  cubinet run {} --batch 16 --kv-len 4096 --heads-q 64{})",
      operation, std::string_view(operation) == "mla-decode" ? "" : " --heads-kv 8"));
  choose<RunOptions>(*verb, chosen, options, run_attention);
}

}  // namespace

void add_run(CLI::App& root, Action& chosen) {
  CLI::App* run = root.add_subcommand("run", "Run an operation on a GPU and check it");
  run->require_subcommand(0, 1);
  add_operation(*run, chosen, "decode", "Decode attention over a paged KV cache");
  add_operation(*run, chosen, "prefill", "Prefill attention over a paged or contiguous KV cache");
  add_operation(*run, chosen, "mla-decode", "Decode with latent attention, head dims 576/512");
  add_run_merge(*run, chosen);
  run->footer(
      "Example:\n  cubinet run decode --batch 16 --kv-len 4096 --heads-q 64 --heads-kv 8 --page-size 64");
}

}  // namespace cubinet::cli
