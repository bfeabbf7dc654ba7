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
#include <cubinet/base/sha256.hpp>
#include <cubinet/session/checked_shared_prefix.hpp>

#include <fmt/format.h>

#include <optional>
#include <span>

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
  bool declined = false;  // if true, no backend runs the problem
  AttentionVerdict verdict;
  Sha256Digest o;                   // of the bytes of the output
  std::optional<Sha256Digest> lse;  // the same of the log-sum-exps, if the run writes them
  double seconds = 0;               // the median
  AttentionWork work;
  std::uint32_t shared_prefix = 0;
  std::string prefix_kernel;  // with a shared prefix
  KernelEvent kernel;
  DeviceProperties device;
  int iterations = 0;
};

void report(const Context& context, const AttentionPlan& plan, const AttentionRun& run) {
  const KernelEvent& kernel = run.kernel;
  const AttentionDeviation& error = run.verdict.error;
  context.console().text(fmt::format(
      "device     {}\nbackend    {} ({} was asked for)\n{}\nsplits     {}\nerror      {:.2e} in "
      "the worst row, {:.2e} in all, {:.2e} in the LSE; {} ({:.0e} is "
      "allowed)\n"
      "time       {}, median of {} replays of {} runs\nbandwidth  {:.1f} GB/s, {} of K and V",
      run.device.to_string(), plan.backend_name(), run.requested, loaded_lines(kernel),
      plan.division.kv_splits, error.worst_row, error.all_rows, error.worst_lse,
      run.verdict.correct() ? "correct" : "WRONG", run.verdict.allowed, format_seconds(run.seconds),
      run.iterations, kRunsOfGraph, run.work.kv_bytes / run.seconds * 1e-9,
      format_bytes(static_cast<std::uint64_t>(run.work.kv_bytes))));
  context.console().text("output     sha256:" + run.o.to_hex() +
                         (run.lse ? ", the LSE sha256:" + run.lse->to_hex() : std::string()));
  if (run.shared_prefix > 0)
    context.console().text(fmt::format("prefix     {} tokens by {}", run.shared_prefix, run.prefix_kernel));
  if (plan.request.problem.prefill) {
    context.console().text(fmt::format("operations {:.1f} TFLOP/s of what rows see, {:.3g} operations",
                                       run.work.operations / run.seconds * 1e-12, run.work.operations));
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
  document["output"] = {
      {"sha256", run.o.to_hex()},
      {"lse_sha256", run.lse ? nlohmann::json(run.lse->to_hex()) : nlohmann::json(nullptr)}};
  if (plan.request.problem.append) document["appended"] = run.verdict.appended;
  document["seconds"] = run.seconds;
  if (run.shared_prefix > 0)
    document["shared_prefix"] = {{"tokens", run.shared_prefix}, {"kernel", run.prefix_kernel}};
  document["kv_bytes"] = run.work.kv_bytes;
  document["bytes_per_second"] = run.work.kv_bytes / run.seconds;
  document["operations"] = run.work.operations;
  context.console().document(document);
}

// A Runtime, its device, and the planner and options of a run.
struct RunSetting {
  const Context& context;
  const RunOptions& options;
  const std::vector<std::int32_t>& q_lengths;
  Runtime& runtime;
  std::shared_ptr<const Device> device;
  AttentionPlanner planner;
  PlanOptions plan_options;
};

Result<void> digest_outputs(const TensorBuffers& buffers, bool has_lse, AttentionRun& run) {
  CUBINET_TRY_ASSIGN(const Bytes o, buffers.output());
  run.o = sha256(o);
  if (!has_lse) return {};
  CUBINET_TRY_ASSIGN(const std::vector<float> lse, buffers.lse());
  run.lse = sha256(std::as_bytes(std::span(lse)));
  return {};
}

template <class Checked>
Result<void> time_checked(const RunSetting& setting, const Checked& checked, AttentionRun& run) {
  run.verdict = checked.verdict;
  const auto tensors = checked.tensors();
  const auto record = [&](std::uint32_t, CUstream stream) { return checked.attention.run(tensors, stream); };
  CUBINET_TRY_ASSIGN(run.seconds, median_replay(setting.device, setting.options.iterations, record));
  return {};
}

// Runs a problem, and returns the bound plan.
Result<AttentionPlan> run_plain(const RunSetting& setting, const AttentionProblem& problem,
                                AttentionRun& run) {
  CUBINET_TRY_ASSIGN(const AttentionResolution resolution,
                     setting.planner.resolve(problem, setting.plan_options));
  run.declined = !resolution.plan;
  if (run.declined) return resolution.error();
  run.requested = resolution.requested;
  const unsigned threads = setting.context.jobs();
  CUBINET_TRY_ASSIGN(const AttentionInputs inputs,
                     inputs_in_memory(problem, lengths_of(setting.options, problem), setting.options.seed,
                                      threads, setting.q_lengths));
  CUBINET_TRY_ASSIGN(const AttentionOutputs reference,
                     reference_of(setting.runtime, setting.device, problem, inputs, threads));
  CUBINET_TRY_ASSIGN(const CheckedAttention checked,
                     run_checked(setting.runtime, setting.device, *resolution.plan, inputs, reference));
  run.work = attention_work(problem, inputs.kv_lengths, inputs.q_lengths);
  CUBINET_TRY(digest_outputs(checked.buffers, checked.tensors().lse.address != 0, run));
  CUBINET_TRY(time_checked(setting, checked, run));
  return checked.attention.plan();
}

// Does the same with a prefix that all sequences share. Returns the plan of the own tokens.
Result<AttentionPlan> run_shared(const RunSetting& setting, const SharedPrefixProblem& problem,
                                 AttentionRun& run) {
  const auto plan = plan_shared_prefix(without_lengths(problem), setting.planner, setting.plan_options);
  run.declined = !plan && plan.error().code == ErrorCode::unsupported;
  if (!plan) return plan.error();
  run.requested = setting.options.backend;
  CUBINET_TRY_ASSIGN(const SharedPrefixCase given,
                     make_shared_prefix_case(setting.runtime, setting.device, problem,
                                             lengths_of(setting.options, problem.own), setting.options.seed,
                                             setting.context.jobs(), setting.q_lengths));
  CUBINET_TRY_ASSIGN(const CheckedSharedPrefix checked,
                     run_checked(setting.runtime, setting.device, *plan, given));
  run.work = given.work;
  run.shared_prefix = problem.prefix_len;
  const auto& kernel = checked.attention.prefix().plan().steps.front().kernel;
  if (const auto* spec = std::get_if<KernelSpec>(&kernel)) run.prefix_kernel = spec->to_string();
  CUBINET_TRY(digest_outputs(checked.buffers.own, checked.tensors().own.lse.address != 0, run));
  CUBINET_TRY(time_checked(setting, checked, run));
  return checked.attention.own().plan();
}

Result<ExitStatus> run_attention(const Context& context, const RunOptions& options) {
  // The plan does not know the lengths, as with a CUDA graph, and is thus the one that `select`
  // names.
  CUBINET_TRY_ASSIGN(const AttentionProblem problem, attention_problem_of(options.problem));
  CUBINET_TRY_ASSIGN(const std::vector<std::int32_t> q_lengths, q_lengths_of(options.q_lengths, problem));
  CUBINET_TRY_ASSIGN(const auto shared, shared_prefix_of(options.problem, problem));
  if (const auto served = shared ? check_shared_prefix(*shared) : Result<void>(); !served)
    return context.fail(served.error(), ExitStatus::negative);
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
  CUBINET_TRY_ASSIGN(AttentionPlanner planner, AttentionPlanner::create(*runtime, run.device));
  const RunSetting setting{context, options, q_lengths, *runtime, device, std::move(planner), plan_options};
  const auto plan = shared ? run_shared(setting, *shared, run) : run_plain(setting, problem, run);
  if (run.declined) return context.fail(plan.error(), ExitStatus::negative);
  if (!plan) return plan.error();
  report(context, *plan, run);
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
  CLI::Option* const splits = add_integer(*verb, "--splits", options->splits, 1, 256,
                                          "KV splits of a sequence (default: as planned)");
  add_integer(*verb, "--split-tokens", options->split_tokens, 1, 1U << 30U,
              "KV splits of so many tokens each, a multiple of 128 (default: as planned)")
      ->excludes(splits);
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
