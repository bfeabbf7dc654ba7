// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "attention_arguments.hpp"
#include "describe.hpp"
#include "interrupt.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/reference_values.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/spec/image_target.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace cubinet::cli {
namespace {

// ||o - ref|| / ||ref|| of a row: the rounding of what goes into the tensor cores leaves some 3e-3 of bf16,
// and of e4m3, to which the weights of the softmax are rounded as well, up to 1/16 of each of them.
constexpr double kLargestError = 1e-2;
constexpr double kLargestErrorOfE4m3 = 7e-2;
// One graph holds this many launches, so that the time of one is not that of starting it.
constexpr int kLaunchesPerReplay = 10;
constexpr int kWarmUpReplays = 3;

struct RunOptions {
  AttentionArguments problem;
  std::string lengths = "uniform";
  int iterations = 20;
  int device = 0;
  std::uint32_t splits = 0;  // 0: as planned
  std::uint64_t seed = 1;
  std::string backend{kAutomaticBackend};
  Places places;
};

Result<AttentionProblem> problem_of(const RunOptions& options) {
  CUBINET_TRY_ASSIGN(AttentionProblem problem, attention_problem_of(options.problem));
  problem.kv_lengths = make_kv_lengths(
      problem, options.lengths == "borders" ? LengthPattern::borders : LengthPattern::uniform);
  return problem;
}

// Seconds of one run: the median over replays of a graph of several.
Result<double> measure(const BoundAttention& attention, const AttentionTensors& tensors, const Stream& stream,
                       int iterations) {
  CUBINET_TRY_ASSIGN(const Graph graph, Graph::capture(stream, [&]() -> Result<void> {
                       for (int i = 0; i < kLaunchesPerReplay; ++i) {
                         CUBINET_TRY(attention.run(tensors, stream.handle()));
                       }
                       return {};
                     }));
  CUBINET_TRY_ASSIGN(const Event begin, Event::create(stream.device()));
  CUBINET_TRY_ASSIGN(const Event end, Event::create(stream.device()));
  std::vector<double> seconds;
  for (int i = 0; i < kWarmUpReplays + iterations; ++i) {
    CUBINET_TRY(begin.record(stream));
    CUBINET_TRY(graph.launch(stream));
    CUBINET_TRY(end.record(stream));
    CUBINET_TRY(end.synchronize());
    CUBINET_TRY_ASSIGN(const float milliseconds, end.milliseconds_since(begin));
    if (i >= kWarmUpReplays) seconds.push_back(static_cast<double>(milliseconds) * 1e-3 / kLaunchesPerReplay);
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

// Whether a run writes the log-sum-exp: some kernels do only where the problem has it.
bool writes_lse(const AttentionPlan& plan) {
  return plan.request.problem.lse || !plan.rules.lse_as_planned;
}

Result<AttentionDeviation> compare(const AttentionPlan& plan, const AttentionInputs& inputs,
                                   const TensorBuffers& buffers, unsigned threads) {
  const AttentionProblem& problem = plan.request.problem;
  CUBINET_TRY_ASSIGN(const Bytes o, buffers.output());
  std::vector<float> lse;
  if (writes_lse(plan)) {
    CUBINET_TRY_ASSIGN(lse, buffers.lse());
  }
  CUBINET_TRY_ASSIGN(const AttentionOutputs reference, attention_reference(problem, inputs, threads));
  return compare_attention(problem, reference, o, lse);
}

// K and V that the queries of all sequences may read, once.
double kv_bytes(const AttentionProblem& problem) {
  double tokens = 0;
  for (const std::int32_t length : problem.kv_lengths) {
    const std::int64_t seen = std::int64_t{problem.window} + problem.q_len - 1;
    tokens += static_cast<double>(problem.is_sliding() ? std::min<std::int64_t>(length, seen) : length);
  }
  return tokens * problem.heads_kv *
         (problem.head_dim_qk * bits_of(problem.data_type_k) +
          problem.head_dim_v * bits_of(problem.data_type_v)) /
         8;
}

// Whether the append left Q, K and V as the reference does, to the bit; true where there is none.
Result<bool> compare_append(const AttentionProblem& problem, const AttentionInputs& inputs,
                            const TensorBuffers& buffers) {
  if (!problem.append) return true;
  CUBINET_TRY_ASSIGN(const AttentionInputs reference, append_reference(problem, inputs));
  CUBINET_TRY_ASSIGN(const auto appended, buffers.appended());
  return appended == std::array{packed_elements(reference.q, problem.data_type_q),
                                packed_elements(reference.k, problem.data_type_k),
                                packed_elements(reference.v, problem.data_type_v)};
}

struct AttentionRun {
  std::string requested;  // the backend that was asked for
  AttentionDeviation error;
  double seconds = 0;
  double bytes = 0;
  KernelEvent kernel;
  DeviceProperties device;
  int iterations = 0;

  double allowed = kLargestError;
  bool narrow_output = false;
  bool appended = true;  // as the reference, to the bit

  // Of an output of e4m3, whose rows may lie below its smallest number.
  bool within_a_step() const { return narrow_output && error.worst_steps <= 1; }

  bool correct() const {
    return appended && (error.worst_row <= allowed || within_a_step()) && error.worst_lse <= kLargestError;
  }
};

void report(const Context& context, const AttentionPlan& plan, const AttentionRun& run) {
  const KernelEvent& kernel = run.kernel;
  const std::string source(kernel.source ? to_string(*kernel.source) : "nowhere");
  const std::string target = kernel.target ? ImageTarget{*kernel.target, kernel.kind}.to_string() : "?";
  context.console().text(fmt::format(
      "device     {}\nbackend    {} ({} was asked for)\nkernel     {} for {}, {}\nfrom       {} in {}: found "
      "in {}, compiled in {}, loaded in "
      "{}\n"
      "splits     {}\nerror      {:.2e} in the worst row, {:.2e} in all, {:.2e} in the LSE; {} ({:.0e} is "
      "allowed)\n"
      "time       {}, median of {} replays of {} launches\nbandwidth  {:.1f} GB/s, {} of K and V",
      run.device.to_string(), plan.backend_name(), run.requested, kernel.spec.to_string(), target,
      format_bytes(kernel.bytes), source, format_seconds(kernel.total_seconds),
      format_seconds(kernel.find_seconds), format_seconds(kernel.compile_seconds),
      format_seconds(kernel.load_seconds), plan.division.kv_splits, run.error.worst_row, run.error.all_rows,
      run.error.worst_lse, run.correct() ? "correct" : "WRONG", run.allowed, format_seconds(run.seconds),
      run.iterations, kLaunchesPerReplay, run.bytes / run.seconds * 1e-9,
      format_bytes(static_cast<std::uint64_t>(run.bytes))));
  if (plan.request.problem.append) {
    context.console().text(fmt::format("append     rows of {}, {}; in the time, not in the bandwidth",
                                       to_string(plan.request.problem.append->data_type),
                                       run.appended ? "equal to the reference to the bit" : "WRONG"));
  }
  nlohmann::json document = describe(kernel.spec);
  document["device"] = {{"ordinal", run.device.ordinal}, {"name", run.device.name}};
  document["kernel"] = {{"key", kernel.key.to_string()},
                        {"target", target},
                        {"source", source},
                        {"bytes", kernel.bytes},
                        {"total_seconds", kernel.total_seconds},
                        {"find_seconds", kernel.find_seconds},
                        {"compile_seconds", kernel.compile_seconds},
                        {"load_seconds", kernel.load_seconds}};
  document["requested"] = run.requested;
  document["backend"] = plan.backend_name();
  document["splits"] = plan.division.kv_splits;
  document["correct"] = run.correct();
  document["relative_error"] = {{"worst_row", run.error.worst_row},
                                {"all_rows", run.error.all_rows},
                                {"worst_lse", run.error.worst_lse},
                                {"allowed", run.allowed}};
  if (plan.request.problem.append) document["appended"] = run.appended;
  document["seconds"] = run.seconds;
  document["kv_bytes"] = run.bytes;
  document["bytes_per_second"] = run.bytes / run.seconds;
  context.console().document(document);
}

// The backend and its plan for launching on this device.
Result<AttentionResolution> resolve(Runtime& runtime, const AttentionProblem& problem,
                                    const RunOptions& options, const DeviceProperties& device) {
  CUBINET_TRY_ASSIGN(const DeviceRows found, runtime.rows(device.capability));
  const AvailableKernels kernels = AvailableKernels::create(found, device.capability);
  const DeviceFacts facts{device.capability, device.multiprocessors, device.maximum_shared_bytes_per_block};
  CUBINET_TRY_ASSIGN(const AttentionBackends backends, AttentionBackends::builtin());
  PlanOptions wishes;
  wishes.backend = options.backend;
  if (options.splits > 0) wishes.splits = options.splits;
  CUBINET_TRY_ASSIGN(AttentionResolution resolution,
                     resolve_attention(problem, facts, kernels, backends, wishes));
  if (!resolution.plan || resolution.plan->exists() || runtime.compiler()) return resolution;
  // What has to be compiled cannot be: another tile may be there already.
  wishes.may_compile = false;
  CUBINET_TRY_ASSIGN(AttentionResolution without,
                     resolve_attention(problem, facts, kernels, backends, wishes));
  return without.plan ? std::move(without) : std::move(resolution);
}

// In the host's memory, which the line may ask too much of.
Result<AttentionInputs> inputs_of(const Context& context, const AttentionProblem& problem,
                                  const RunOptions& options) {
  try {
    return make_attention_inputs(problem, problem.kv_lengths, options.seed, context.jobs());
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::unavailable,
                 fmt::format("the memory does not suffice: K and V alone take {}",
                             format_bytes(static_cast<std::uint64_t>(kv_bytes(problem)))),
                 "ask for a smaller batch or fewer tokens"};
  }
}

Result<ExitStatus> run_attention(const Context& context, const RunOptions& options) {
  CUBINET_TRY_ASSIGN(const AttentionProblem problem, problem_of(options));
  AttentionRun run;
  run.iterations = options.iterations;
  run.narrow_output = problem.data_type_o == DataType::e4m3;
  if (problem.data_type_q == DataType::e4m3 || run.narrow_output) run.allowed = kLargestErrorOfE4m3;
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog({}));
  const InterruptGuard interrupt(InterruptGuard::First::ends);  // not by a handler of NVRTC's
  std::size_t before = problem.append ? 1 : 0;  // kernels that are loaded before the one that attends
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
  CUBINET_TRY_ASSIGN(const AttentionResolution resolution, resolve(*runtime, problem, options, run.device));
  if (!resolution.plan) return context.fail(resolution.error(), ExitStatus::negative);
  run.requested = resolution.requested;
  CUBINET_TRY_ASSIGN(const BoundAttention attention,
                     BoundAttention::bind(*runtime, *resolution.plan, options.device));
  CUBINET_TRY_ASSIGN(const AttentionInputs inputs, inputs_of(context, problem, options));
  CUBINET_TRY_ASSIGN(const TensorBuffers buffers,
                     TensorBuffers::create(device, problem, inputs, attention.plan().workspace));
  AttentionTensors tensors = buffers.tensors();
  if (!writes_lse(attention.plan())) tensors.lse = {};
  CUBINET_TRY(attention.check(tensors));
  CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(device));
  CUBINET_TRY(attention.run(tensors, stream.handle()));
  CUBINET_TRY(stream.synchronize());
  CUBINET_TRY_ASSIGN(run.appended, compare_append(problem, inputs, buffers));
  CUBINET_TRY_ASSIGN(run.error, compare(attention.plan(), inputs, buffers, context.jobs()));
  CUBINET_TRY_ASSIGN(run.seconds, measure(attention, tensors, stream, options.iterations));
  run.bytes = kv_bytes(problem);
  report(context, attention.plan(), run);
  return run.correct() ? ExitStatus::done : ExitStatus::negative;
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
  add_integer(*verb, "--iterations", options->iterations, 1, 100'000, "Replays to time (default: 20)");
  add_integer(*verb, "--seed", options->seed, 0, INT64_MAX, "Of the random inputs (default: 1)");
  add_text(*verb, "--backend", options->backend, "NAME", "auto (default), templates or published");
  add_integer(*verb, "--splits", options->splits, 1, 256, "KV splits of a sequence (default: as planned)");
  add_integer(*verb, "--device", options->device, 0, 1023, "The GPU's number (default: 0)");
  add_places(*verb, options->places);
  add_cache(*verb, options->places);
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
  add_operation(*run, chosen, "prefill", "Prefill attention over a paged KV cache");
  add_operation(*run, chosen, "mla-decode", "Decode with latent attention, head dims 576/512");
  run->footer(
      "Example:\n  cubinet run decode --batch 16 --kv-len 4096 --heads-q 64 --heads-kv 8 --page-size 64");
}

}  // namespace cubinet::cli
