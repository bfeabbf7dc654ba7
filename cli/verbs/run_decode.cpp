// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "attention_arguments.hpp"
#include "describe.hpp"
#include "interrupt.hpp"
#include "kernel_rows.hpp"
#include "verbs.hpp"

#include <cubinet/attention/decode_inputs.hpp>
#include <cubinet/attention/decode_reference.hpp>
#include <cubinet/attention/problem_conversion.hpp>
#include <cubinet/attention/resolution.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/spec/image_target.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>

namespace cubinet::cli {
namespace {

// ||o - ref|| / ||ref|| of a row: the rounding of bf16 inputs to the tensor cores leaves some 3e-3.
constexpr double kLargestError = 1e-2;
// One graph holds this many launches, so that the time of one is not that of starting it.
constexpr int kLaunchesPerReplay = 10;
constexpr int kWarmUpReplays = 3;

struct DecodeRunOptions {
  DecodeProblem problem;
  int head_dim_v = 0;  // 0: as head_dim_qk
  std::string dtype_q = "bf16";
  std::string dtype_kv;  // empty: as dtype_q
  std::string dtype_o;
  std::string mask = "causal";
  std::string layout = "nhd";
  std::string lengths = "uniform";
  int window = 0;  // 0: none
  int iterations = 20;
  int device = 0;
  int splits = 0;  // 0: as planned
  std::uint64_t seed = 1;
  std::string backend{kAutomaticBackend};
  std::vector<std::string> bundles;
};

Result<DecodeProblem> problem_of(const DecodeRunOptions& options) {
  DecodeProblem problem = options.problem;
  problem.head_dim_v = options.head_dim_v == 0 ? problem.head_dim_qk : options.head_dim_v;
  CUBINET_TRY_ASSIGN(problem.dtype_q, parse_data_type_option(options.dtype_q, "--dtype-q"));
  CUBINET_TRY_ASSIGN(
      problem.dtype_kv,
      parse_data_type_option(options.dtype_kv.empty() ? options.dtype_q : options.dtype_kv, "--dtype-kv"));
  CUBINET_TRY_ASSIGN(
      problem.dtype_o,
      parse_data_type_option(options.dtype_o.empty() ? options.dtype_q : options.dtype_o, "--dtype-o"));
  problem.mask = options.mask == "dense" ? DecodeMask::dense : DecodeMask::causal;
  problem.layout = options.layout == "hnd" ? KvLayout::hnd : KvLayout::nhd;
  if (options.window > 0) problem.window = options.window;
  CUBINET_TRY(check(problem));
  problem.kv_lengths = make_decode_lengths(
      problem, options.lengths == "borders" ? LengthPattern::borders : LengthPattern::uniform);
  return problem;
}

template <class T>
ByteView bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

template <class T>
Result<DeviceBuffer> upload(const std::shared_ptr<const Device>& device, const std::vector<T>& values) {
  CUBINET_TRY_ASSIGN(DeviceBuffer buffer, DeviceBuffer::allocate(device, values.size() * sizeof(T)));
  CUBINET_TRY(buffer.copy_from(bytes_of(values)));
  return buffer;
}

// Every byte 0xff is a NaN in each of the output's types: an element that the kernel leaves alone is seen.
Result<DeviceBuffer> poisoned(const std::shared_ptr<const Device>& device, std::size_t bytes) {
  CUBINET_TRY_ASSIGN(DeviceBuffer buffer, DeviceBuffer::allocate(device, bytes));
  CUBINET_TRY(buffer.fill(std::byte{0xff}));
  return buffer;
}

// The tensors of a problem on a device.
struct DecodeBuffers {
  DeviceBuffer q, k, v, page_table, kv_lengths, o, lse, workspace;

  static Result<DecodeBuffers> create(const std::shared_ptr<const Device>& device,
                                      const DecodeProblem& problem, const DecodeInputs& inputs,
                                      const DecodePlan& plan) {
    const std::size_t rows = static_cast<std::size_t>(problem.batch) *
                             static_cast<std::size_t>(problem.q_len) *
                             static_cast<std::size_t>(problem.heads_q);
    const std::size_t o_bytes =
        rows * static_cast<std::size_t>(problem.head_dim_v) * bits_of(problem.dtype_o) / 8;
    CUBINET_TRY_ASSIGN(DeviceBuffer q, upload(device, inputs.q));
    CUBINET_TRY_ASSIGN(DeviceBuffer k, upload(device, inputs.k));
    CUBINET_TRY_ASSIGN(DeviceBuffer v, upload(device, inputs.v));
    CUBINET_TRY_ASSIGN(DeviceBuffer page_table, upload(device, inputs.page_table));
    CUBINET_TRY_ASSIGN(DeviceBuffer kv_lengths, upload(device, inputs.kv_lengths));
    CUBINET_TRY_ASSIGN(DeviceBuffer o, poisoned(device, o_bytes));
    CUBINET_TRY_ASSIGN(DeviceBuffer lse, poisoned(device, rows * sizeof(float)));
    CUBINET_TRY_ASSIGN(DeviceBuffer workspace, poisoned(device, plan.workspace_bytes));
    return DecodeBuffers{std::move(q),          std::move(k), std::move(v),   std::move(page_table),
                         std::move(kv_lengths), std::move(o), std::move(lse), std::move(workspace)};
  }

  DecodeTensors tensors() const {
    DecodeTensors tensors;
    tensors.q = q.address();
    tensors.k = k.address();
    tensors.v = v.address();
    tensors.o = o.address();
    tensors.lse = lse.address();
    tensors.page_table = page_table.address();
    tensors.kv_lengths = kv_lengths.address();
    tensors.workspace = workspace.address();
    return tensors;
  }
};

struct DecodeKernels {
  Function main;
  Function reduce;  // empty when the plan does not split
};

Result<DecodeKernels> find_kernels(Runtime& runtime, const DecodePlan& plan, int device) {
  DecodeKernels kernels;
  CUBINET_TRY_ASSIGN(kernels.main, runtime.function(plan.spec, device, "attention_decode"));
  if (plan.reduces()) {
    CUBINET_TRY_ASSIGN(kernels.reduce, runtime.function(plan.spec, device, "attention_decode_reduce"));
  }
  return kernels;
}

Result<void> launch(const DecodeKernels& kernels, const DecodePlan& plan, const DecodeTensors& tensors,
                    const Stream& stream) {
  CUBINET_TRY_ASSIGN(const auto arguments, plan.arguments(tensors));
  LaunchConfig config;
  config.grid = plan.grid;
  config.stream = stream.handle();
  CUBINET_TRY(kernels.main.launch(config, arguments));
  if (!plan.reduces()) return {};
  config.grid = plan.reduce_grid;
  config.programmatic_launch = kernels.reduce.entry_point().programmatic_launch;
  return kernels.reduce.launch(config, arguments);
}

// Seconds of one launch: the median over replays of a graph of several.
Result<double> measure(const DecodeKernels& kernels, const DecodePlan& plan, const DecodeTensors& tensors,
                       const Stream& stream, int iterations) {
  CUBINET_TRY_ASSIGN(const Graph graph, Graph::capture(stream, [&]() -> Result<void> {
                       for (int i = 0; i < kLaunchesPerReplay; ++i) {
                         CUBINET_TRY(launch(kernels, plan, tensors, stream));
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

Result<DecodeError> compare(const DecodeProblem& problem, const DecodeInputs& inputs,
                            const DecodeBuffers& buffers, unsigned threads) {
  Bytes o(buffers.o.size());
  CUBINET_TRY(buffers.o.copy_to(o));
  std::vector<float> lse(buffers.lse.size() / sizeof(float));
  CUBINET_TRY(buffers.lse.copy_to(std::as_writable_bytes(std::span<float>(lse))));
  CUBINET_TRY_ASSIGN(const DecodeOutputs reference, decode_reference(problem, inputs, threads));
  return compare_decode(problem, reference, o, lse);
}

// K and V that the queries of all sequences may read, once.
double kv_bytes(const DecodeProblem& problem) {
  double tokens = 0;
  for (const std::int32_t length : problem.kv_lengths) {
    tokens += problem.window ? std::min(length, *problem.window + problem.q_len - 1) : length;
  }
  return tokens * problem.heads_kv * (problem.head_dim_qk + problem.head_dim_v) * bits_of(problem.dtype_kv) /
         8;
}

struct DecodeRun {
  std::string requested;  // the backend that was asked for
  std::string effective;  // and the one that is used
  DecodePlan plan;
  DecodeError error;
  double seconds = 0;
  double bytes = 0;
  KernelEvent kernel;
  DeviceProperties device;
  int iterations = 0;

  bool correct() const { return error.worst_row <= kLargestError && error.worst_lse <= kLargestError; }
};

void report(const Context& context, const DecodeRun& run) {
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
      run.device.to_string(), run.effective, run.requested, kernel.spec.to_string(), target,
      format_bytes(kernel.bytes), source, format_seconds(kernel.total_seconds),
      format_seconds(kernel.find_seconds), format_seconds(kernel.compile_seconds),
      format_seconds(kernel.load_seconds), run.plan.num_splits, run.error.worst_row, run.error.all_rows,
      run.error.worst_lse, run.correct() ? "correct" : "WRONG", kLargestError, format_seconds(run.seconds),
      run.iterations, kLaunchesPerReplay, run.bytes / run.seconds * 1e-9,
      format_bytes(static_cast<std::uint64_t>(run.bytes))));
  nlohmann::json document = describe(run.plan.spec);
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
  document["backend"] = run.effective;
  document["splits"] = run.plan.num_splits;
  document["correct"] = run.correct();
  document["relative_error"] = {{"worst_row", run.error.worst_row},
                                {"all_rows", run.error.all_rows},
                                {"worst_lse", run.error.worst_lse},
                                {"allowed", kLargestError}};
  document["seconds"] = run.seconds;
  document["kv_bytes"] = run.bytes;
  document["bytes_per_second"] = run.bytes / run.seconds;
  context.console().document(document);
}

// The backend and its plan for launching on this device.
Result<AttentionResolution> resolve(const Context& context, const DecodeProblem& problem,
                                    const DecodeRunOptions& options, const DeviceProperties& device) {
  CUBINET_TRY_ASSIGN(const std::vector<KernelRow> rows, rows_of_home(context));
  BackendContext known = BackendContext::create(
      {device.capability, device.multiprocessors, device.maximum_shared_bytes_per_block}, rows);
  known.decode = hints_of(problem);
  if (options.splits > 0) known.decode.splits = options.splits;
  CUBINET_TRY_ASSIGN(const AttentionBackends backends, AttentionBackends::builtin());
  const AttentionProblem attention = attention_problem_of(problem);
  const auto survey = [&] {
    return survey_backends(attention, options.backend, AttentionPurpose::launch, known, backends);
  };
  CUBINET_TRY_ASSIGN(AttentionResolution resolution, survey());
  if (!resolution.plan || resolution.plan->exists() || Compiler::open(context.compiler_search())) {
    return resolution;
  }
  // What has to be compiled cannot be: another tile may be there already. A bundle that was named may hold
  // it.
  known.may_compile = false;
  CUBINET_TRY_ASSIGN(AttentionResolution without, survey());
  return without.plan ? std::move(without) : std::move(resolution);
}

// In the host's memory, which the line may ask too much of.
Result<DecodeInputs> inputs_of(const Context& context, const DecodeProblem& problem,
                               const DecodeRunOptions& options) {
  try {
    return make_decode_inputs(problem, problem.kv_lengths, options.seed, context.jobs());
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::unavailable,
                 fmt::format("the memory does not suffice: K and V alone take {}",
                             format_bytes(static_cast<std::uint64_t>(kv_bytes(problem)))),
                 "ask for a smaller batch or fewer tokens"};
  }
}

Result<ExitStatus> run_decode(const Context& context, const DecodeRunOptions& options) {
  CUBINET_TRY_ASSIGN(const DecodeProblem asked, problem_of(options));
  DecodeRun run;
  run.iterations = options.iterations;
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog({}));
  const InterruptGuard interrupt(InterruptGuard::First::ends);  // not by a handler of NVRTC's
  const auto observe = [&run, first = true](const KernelEvent& event) mutable {
    if (std::exchange(first, false)) run.kernel = event;
  };
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime(catalog, {}, observe, options.bundles));
  CUBINET_TRY_ASSIGN(const auto device, runtime->device(options.device));
  run.device = device->properties();
  CUBINET_TRY_ASSIGN(const AttentionResolution resolution, resolve(context, asked, options, run.device));
  if (!resolution.plan) return context.fail(resolution.error(), ExitStatus::negative);
  run.requested = resolution.requested;
  run.effective = resolution.effective();
  run.plan = *resolution.plan->decode;
  const DecodeProblem& problem = *resolution.plan->decode_problem;
  CUBINET_TRY_ASSIGN(const DecodeKernels kernels, find_kernels(*runtime, run.plan, options.device));
  CUBINET_TRY_ASSIGN(const DecodeInputs inputs, inputs_of(context, problem, options));
  CUBINET_TRY_ASSIGN(const DecodeBuffers buffers, DecodeBuffers::create(device, problem, inputs, run.plan));
  CUBINET_TRY_ASSIGN(const auto current, device->make_current());
  CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(device));
  CUBINET_TRY(launch(kernels, run.plan, buffers.tensors(), stream));
  CUBINET_TRY(stream.synchronize());
  CUBINET_TRY_ASSIGN(run.error, compare(problem, inputs, buffers, context.jobs()));
  CUBINET_TRY_ASSIGN(run.seconds, measure(kernels, run.plan, buffers.tensors(), stream, options.iterations));
  run.bytes = kv_bytes(problem);
  report(context, run);
  return run.correct() ? ExitStatus::done : ExitStatus::negative;
}

void add_shape_options(CLI::App& verb, DecodeRunOptions& options) {
  constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
  DecodeProblem& problem = options.problem;
  add_integer(verb, "--batch", problem.batch, 1, kLargest, "Sequences")->required();
  add_integer(verb, "--kv-len", problem.kv_len_max, 0, kLargest, "Tokens of the longest sequence")
      ->required();
  add_integer(verb, "--heads-q", problem.heads_q, 1, kLargest, "Query heads")->required();
  add_integer(verb, "--heads-kv", problem.heads_kv, 1, kLargest, "KV heads; divide the query heads")
      ->required();
  add_integer(verb, "--head-dim-qk", problem.head_dim_qk, 1, kLargest, "Elements of a row of Q and K")
      ->required();
  add_integer(verb, "--head-dim-v", options.head_dim_v, 1, kLargest,
              "Elements of a row of V (default: as Q and K)");
  add_integer(verb, "--page-size", problem.page_size, 1, kLargest, "Tokens of a page")->required();
  add_integer(verb, "--q-len", problem.q_len, 1, kLargest, "Query tokens of a sequence (default: 1)");
  add_integer(verb, "--window", options.window, 1, kLargest,
              "Newest tokens that a query sees (default: all)");
  add_text(verb, "--dtype-q", options.dtype_q, "TYPE", "bf16 (default) or fp16");
  add_text(verb, "--dtype-kv", options.dtype_kv, "TYPE", "(default: as Q)");
  add_text(verb, "--dtype-o", options.dtype_o, "TYPE", "(default: as Q)");
  verb.add_option("--mask", options.mask, "causal (default) or dense")
      ->check(CLI::IsMember({"causal", "dense"}))
      ->type_name("MASK");
  verb.add_option("--layout", options.layout, "nhd (default): pages token by token; hnd: head by head")
      ->check(CLI::IsMember({"nhd", "hnd"}))
      ->type_name("LAYOUT");
  verb.add_option("--lengths", options.lengths,
                  "uniform (default), or borders: beside page and tile borders, one empty")
      ->check(CLI::IsMember({"uniform", "borders"}))
      ->type_name("PATTERN");
}

}  // namespace

void add_run(CLI::App& root, Action& chosen) {
  CLI::App* run = root.add_subcommand("run", "Run an operation on a GPU and check it");
  run->require_subcommand(0, 1);
  CLI::App* verb = run->add_subcommand("decode", "Decode attention over a paged KV cache");
  auto options = std::make_shared<DecodeRunOptions>();
  add_shape_options(*verb, *options);
  add_integer(*verb, "--iterations", options->iterations, 1, 100'000, "Replays to time (default: 20)");
  add_integer(*verb, "--seed", options->seed, 0, INT64_MAX, "Of the random inputs (default: 1)");
  add_text(*verb, "--backend", options->backend, "NAME", "auto (default), templates or imported");
  add_integer(*verb, "--splits", options->splits, 1, kMaximumDecodeSplits,
              "KV splits of a sequence (default: as planned)");
  add_integer(*verb, "--device", options->device, 0, 1023, "The GPU's number (default: 0)");
  add_list(*verb, "--bundle", options->bundles, "BUNDLE", "Look for the kernel there, too; may be repeated");
  verb->footer(
      R"(Compares every row with attention in double precision; status 1 when one is off. Same tensors at every launch: K and
V that fit the device's cache are read from it.

Examples:
  cubinet run decode --batch 16 --kv-len 4096 --heads-q 64 --heads-kv 8 --head-dim-qk 128 --page-size 64
  cubinet run decode --batch 4 --kv-len 8192 --heads-q 32 --heads-kv 8 --head-dim-qk 128 --page-size 16 \
      --dtype-q fp16 --window 1024 --lengths borders)");
  choose<DecodeRunOptions>(*verb, chosen, options, run_decode);
}

}  // namespace cubinet::cli
