// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "attention_arguments.hpp"
#include "describe.hpp"
#include "interrupt.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/session/checked_merge.hpp>

#include <fmt/format.h>

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

Result<ExitStatus> run_merge(const Context& context, const MergeOptions& options) {
  CUBINET_TRY_ASSIGN(const AttentionMerge::Problem problem, merge_problem(options));
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog({}));
  const InterruptGuard interrupt(InterruptGuard::First::ends);  // instead of NVRTC's handler
  KernelEvent kernel;
  CUBINET_TRY_ASSIGN(
      const auto runtime,
      context.runtime(
          catalog, {}, [&kernel](const KernelEvent& event) { kernel = event; }, options.places));
  CUBINET_TRY_ASSIGN(const CheckedMerge merge,
                     run_checked_merge(*runtime, problem,
                                       {options.tokens, options.device, options.seed, options.iterations}));
  const AttentionVerdict& verdict = merge.verdict;
  const AttentionDeviation& error = verdict.error;
  const double rate = merge.bytes / merge.seconds;
  context.console().text(
      fmt::format("device     {}\n{}\nerror      {:.2e} in the worst row, {:.2e} in the LSE; {}\ntime       "
                  "{}, median of {} "
                  "replays of {} runs\nbandwidth  {:.1f} GB/s, {} read and written",
                  merge.device.to_string(), loaded_lines(kernel), error.worst_row, error.worst_lse,
                  verdict.correct() ? "correct" : "WRONG", format_seconds(merge.seconds), options.iterations,
                  kRunsOfGraph, rate * 1e-9, format_bytes(static_cast<std::uint64_t>(merge.bytes))));
  nlohmann::json document = describe(kernel.spec);
  document["device"] = {{"ordinal", merge.device.ordinal}, {"name", merge.device.name}};
  document["kernel"] = describe_loaded(kernel);
  document["correct"] = verdict.correct();
  document["relative_error"] = {
      {"worst_row", error.worst_row}, {"worst_lse", error.worst_lse}, {"allowed", verdict.allowed}};
  document["seconds"] = merge.seconds;
  document["bytes"] = merge.bytes;
  document["bytes_per_second"] = rate;
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
