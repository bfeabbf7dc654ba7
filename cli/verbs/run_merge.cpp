// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "attention_arguments.hpp"
#include "describe.hpp"
#include "interrupt.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/attention/merge.hpp>
#include <cubinet/attention/reference.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/session/checked_attention.hpp>

#include <fmt/format.h>

#include <new>
#include <span>

namespace cubinet::cli {
namespace {

struct MergeOptions {
  std::uint32_t tokens = 64;
  std::uint32_t heads = 1;
  std::uint32_t head_dim = 128;
  std::string dtype = "bf16";
  std::string dtype_o;
  double output_scale = 1;
  int iterations = 20;
  int device = 0;
  std::uint64_t seed = 1;
  Places places;
};

Result<AttentionMerge::Problem> merge_problem(const MergeOptions& options) {
  AttentionMerge::Problem problem;
  problem.heads = options.heads;
  problem.head_dim = options.head_dim;
  CUBINET_TRY_ASSIGN(problem.data_type, parse_data_type_option(options.dtype, "--dtype"));
  CUBINET_TRY_ASSIGN(
      problem.data_type_o,
      parse_data_type_option(options.dtype_o.empty() ? options.dtype : options.dtype_o, "--dtype-o"));
  problem.output_scale = options.output_scale;
  return problem;
}

// Two partial results and their merged result, on a device.
struct MergeBuffers {
  DeviceBuffer first_o, first_lse, second_o, second_lse, merged_o, merged_lse;

  static Result<MergeBuffers> create(const std::shared_ptr<const Device>& device,
                                     const AttentionMerge::Problem& problem, const MergeInputs& inputs);
  AttentionMerge::Tensors tensors() const;
};

Result<MergeBuffers> MergeBuffers::create(const std::shared_ptr<const Device>& device,
                                          const AttentionMerge::Problem& problem, const MergeInputs& inputs) {
  const std::size_t elements = inputs.first.lse.size() * problem.head_dim;
  // These bytes are NaN in every output type.
  const Bytes poison(elements * bits_of(problem.data_type_o) / 8, std::byte{0xff});
  CUBINET_TRY_ASSIGN(DeviceBuffer first_o, DeviceBuffer::copy_of(device, inputs.first.o));
  CUBINET_TRY_ASSIGN(DeviceBuffer first_lse, DeviceBuffer::copy_of(device, inputs.first.lse));
  CUBINET_TRY_ASSIGN(DeviceBuffer second_o, DeviceBuffer::copy_of(device, inputs.second.o));
  CUBINET_TRY_ASSIGN(DeviceBuffer second_lse, DeviceBuffer::copy_of(device, inputs.second.lse));
  CUBINET_TRY_ASSIGN(DeviceBuffer merged_o, DeviceBuffer::copy_of(device, poison));
  CUBINET_TRY_ASSIGN(DeviceBuffer merged_lse, DeviceBuffer::copy_of(device, inputs.first.lse));
  return MergeBuffers{std::move(first_o),    std::move(first_lse), std::move(second_o),
                      std::move(second_lse), std::move(merged_o),  std::move(merged_lse)};
}

AttentionMerge::Tensors MergeBuffers::tensors() const {
  return {{first_o, first_lse}, {second_o, second_lse}, {merged_o, merged_lse}};
}

// Compares the merged result with the definition in double precision.
Result<AttentionVerdict> judge(const AttentionMerge::Problem& problem, const MergeInputs& inputs,
                               const MergeBuffers& buffers) {
  Bytes o(buffers.merged_o.size());
  std::vector<float> lse(inputs.first.lse.size());
  CUBINET_TRY(buffers.merged_o.copy_to(o));
  CUBINET_TRY(buffers.merged_lse.copy_to(lse));
  AttentionVerdict verdict;
  verdict.narrow_output = problem.data_type_o == DataType::e4m3;
  CUBINET_TRY_ASSIGN(verdict.error, compare_merge(problem, inputs, o, lse));
  return verdict;
}

// Returns the partial results in the host's memory. Checks the device's memory first, because the
// host may have less.
Result<MergeInputs> parts_in_memory(const AttentionMerge::Problem& problem, const MergeOptions& options,
                                    const DeviceProperties& device) {
  const double bytes =
      2.0 * options.tokens * problem.heads * problem.head_dim * bits_of(problem.data_type) / 8;
  if (bytes > static_cast<double>(device.memory_bytes)) {
    return Error{ErrorCode::unavailable,
                 fmt::format("the two parts alone take {:.0f} GiB, more than {} has", bytes / (1U << 30U),
                             device.to_string()),
                 "ask for fewer tokens"};
  }
  try {
    return make_merge_inputs(problem, options.tokens, options.seed);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::unavailable,
                 "the memory does not suffice for two parts of " + std::to_string(options.tokens) + " tokens",
                 "ask for fewer tokens"};
  }
}

Result<ExitStatus> run_merge(const Context& context, const MergeOptions& options) {
  CUBINET_TRY_ASSIGN(const AttentionMerge::Problem problem, merge_problem(options));
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog({}));
  const InterruptGuard interrupt(InterruptGuard::First::ends);  // instead of NVRTC's handler
  KernelEvent kernel;
  CUBINET_TRY_ASSIGN(
      const auto runtime,
      context.runtime(
          catalog, {}, [&kernel](const KernelEvent& event) { kernel = event; }, options.places));
  CUBINET_TRY_ASSIGN(const AttentionMerge merge, AttentionMerge::bind(*runtime, problem, options.device));
  CUBINET_TRY_ASSIGN(const auto device, runtime->device(options.device));
  CUBINET_TRY_ASSIGN(const MergeInputs inputs, parts_in_memory(problem, options, device->properties()));
  CUBINET_TRY_ASSIGN(const MergeBuffers buffers, MergeBuffers::create(device, problem, inputs));
  const auto record = [&](std::uint32_t, CUstream stream) {
    return merge.run(buffers.tensors(), options.tokens, stream);
  };
  CUBINET_TRY_ASSIGN(const double seconds, median_replay(device, options.iterations, record));
  CUBINET_TRY_ASSIGN(const AttentionVerdict verdict, judge(problem, inputs, buffers));
  const auto bytes = static_cast<double>(inputs.first.o.size() + inputs.second.o.size() +
                                         buffers.merged_o.size() + 3 * buffers.merged_lse.size());
  const AttentionDeviation& error = verdict.error;
  context.console().text(
      fmt::format("device     {}\n{}\nerror      {:.2e} in the worst row, {:.2e} in the LSE; {}\ntime       "
                  "{}, median of {} "
                  "replays of {} runs\nbandwidth  {:.1f} GB/s, {} read and written",
                  device->properties().to_string(), loaded_lines(kernel), error.worst_row, error.worst_lse,
                  verdict.correct() ? "correct" : "WRONG", format_seconds(seconds), options.iterations,
                  kRunsOfGraph, bytes / seconds * 1e-9, format_bytes(static_cast<std::uint64_t>(bytes))));
  nlohmann::json document = describe(kernel.spec);
  document["device"] = {{"ordinal", device->ordinal()}, {"name", device->properties().name}};
  document["kernel"] = describe_loaded(kernel);
  document["correct"] = verdict.correct();
  document["relative_error"] = {
      {"worst_row", error.worst_row}, {"worst_lse", error.worst_lse}, {"allowed", verdict.allowed}};
  document["seconds"] = seconds;
  document["bytes"] = bytes;
  document["bytes_per_second"] = bytes / seconds;
  context.console().document(document);
  return verdict.correct() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_run_merge(CLI::App& run, Action& chosen) {
  CLI::App* verb = run.add_subcommand("merge", "Attention over two parts of the KV, brought together");
  auto options = std::make_shared<MergeOptions>();
  add_integer(*verb, "--tokens", options->tokens, 1, 1U << 24U, "Query tokens (default: 64)");
  add_integer(*verb, "--heads", options->heads, 1, 1U << 20U, "Query heads")->required();
  add_integer(*verb, "--head-dim", options->head_dim, 8, 1U << 16U,
              "Columns of the output, a multiple of 8 (default: 128)");
  add_text(*verb, "--dtype", options->dtype, "TYPE", "Of both parts: bf16 (default), fp16, fp32");
  add_text(*verb, "--dtype-o", options->dtype_o, "TYPE",
           "Of the output: that of the parts (default), or e4m3");
  verb->add_option("--output-scale", options->output_scale, "Of the output (default: 1)")->type_name("X");
  add_integer(*verb, "--iterations", options->iterations, 1, 100'000, "Replays to time (default: 20)");
  add_integer(*verb, "--seed", options->seed, 0, INT64_MAX, "Of the random parts (default: 1)");
  add_integer(*verb, "--device", options->device, 0, 1023, "The GPU's number (default: 0)");
  add_places(*verb, options->places);
  add_written_cache(*verb, options->places);
  verb->footer(
      R"(Compares every row with double precision; status 1 when one is off. Same tensors at every launch: those that fit
the device's cache are read from it.

Example:
  cubinet run merge --tokens 4096 --heads 64 --head-dim 128)");
  choose<MergeOptions>(*verb, chosen, options, run_merge);
}

}  // namespace cubinet::cli
