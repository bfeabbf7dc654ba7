// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "bench_report.hpp"
#include "interrupt.hpp"
#include "option_lines.hpp"
#include "output_file.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cubinet::cli {
namespace {

constexpr std::uint32_t kRunsOfBench = 20;

struct BenchOptions {
  BenchCase given;
  std::string sweep;
  std::string csv;
  int iterations = 20;
  int device = 0;
  std::uint64_t seed = 1;
  Places places;
};

// What the cases share.
struct Bench {
  const Context& context;
  const BenchOptions& options;
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Device> device;
  MemoryReader reader;
};

// K and V of a copy, as far as a run has to read them.
Result<void> read_copy(const MemoryReader& reader, const CheckedAttention& checked, const BenchRow& row,
                       std::uint32_t copy, CUstream stream) {
  const AttentionTensors tensors = checked.tensors();
  const std::uint32_t copies = checked.buffers.copies();
  const auto part = [&](DeviceTensor tensor, double share) {
    const std::uint64_t bytes = tensor.bytes / copies;
    const auto read = static_cast<std::uint64_t>(row.work.kv_bytes * share);
    return DeviceTensor{tensor.address + copy * bytes, std::min(bytes, read), {}};
  };
  if (row.problem.is_mla_generation()) return reader.run(part(tensors.k, 1), {}, stream);
  const double share =
      static_cast<double>(tensors.k.bytes) / static_cast<double>(tensors.k.bytes + tensors.v.bytes);
  return reader.run(part(tensors.k, share), part(tensors.v, 1 - share), stream);
}

Result<void> measure_row(const Bench& bench, const AttentionInputs& inputs, const AttentionOutputs& reference,
                         BenchRow& row) {
  PlanOptions wishes;
  wishes.backend = row.requested;
  wishes.starts_early = row.measured.programmatic_launch;
  if (row.measured.splits > 0) wishes.splits = row.measured.splits;
  AttentionProblem planned = row.problem;
  if (!row.measured.lengths_unknown) planned.kv_lengths = inputs.kv_lengths;
  CUBINET_TRY_ASSIGN(const AttentionResolution resolution,
                     resolve_for_launch(*bench.runtime, planned, bench.device->properties(), wishes));
  if (!resolution.plan) return resolution.error();
  row.backend = resolution.plan->backend_name();
  row.choice = resolution.plan->measured;
  CUBINET_TRY_ASSIGN(const CheckedAttention checked,
                     run_checked(*bench.runtime, bench.device, *resolution.plan, inputs, reference,
                                 cold_copies(row.work.kv_bytes, kRunsOfBench)));
  row.verdict = checked.verdict;
  row.splits = checked.attention.plan().division.kv_splits;
  const std::uint32_t copies = checked.buffers.copies();
  const auto run = [&](std::uint32_t i, CUstream stream) {
    return checked.attention.run(checked.tensors(i % copies), stream);
  };
  const auto read = [&](std::uint32_t i, CUstream stream) {
    return read_copy(bench.reader, checked, row, i % copies, stream);
  };
  CUBINET_TRY_ASSIGN(const TimedRuns runs, TimedRuns::capture(bench.device, kRunsOfBench, run));
  CUBINET_TRY_ASSIGN(const TimedRuns reads, TimedRuns::capture(bench.device, kRunsOfBench, read));
  for (int round = 0; round < bench.options.iterations; ++round) {
    CUBINET_TRY_ASSIGN(row.seconds.emplace_back(), runs.seconds_a_run(1));
    CUBINET_TRY_ASSIGN(row.read_seconds.emplace_back(), reads.seconds_a_run(1));
  }
  return {};
}

// A row a backend. An error is of the case itself; what one backend cannot do stands in its row.
Result<std::vector<BenchRow>> measure_case(const Bench& bench, const BenchCase& given) {
  BenchRow row;
  row.measured = given;
  CUBINET_TRY_ASSIGN(row.problem, attention_problem_of(given.problem));
  CUBINET_TRY_ASSIGN(const std::vector<std::int32_t> lengths, kv_lengths_of(given, row.problem));
  CUBINET_TRY_ASSIGN(const AttentionInputs inputs,
                     inputs_in_memory(bench.context, row.problem, lengths, bench.options.seed));
  CUBINET_TRY_ASSIGN(const AttentionOutputs reference,
                     attention_reference(row.problem, inputs, bench.context.jobs()));
  row.work = attention_work(row.problem, lengths, inputs.q_lengths);
  for (const std::int32_t length : lengths)
    row.mean_kv_length += static_cast<double>(length) / static_cast<double>(lengths.size());
  std::vector<BenchRow> rows;
  for (const std::string& backend :
       given.backends.empty() ? std::vector<std::string>{std::string(kAutomaticBackend)} : given.backends) {
    row.requested = backend;
    rows.push_back(row);
    if (auto measured = measure_row(bench, inputs, reference, rows.back()); !measured)
      rows.back().error = std::move(measured).error();
  }
  return rows;
}

Result<std::vector<BenchCase>> cases_of(const Context& context, const BenchOptions& options) {
  if (options.sweep.empty()) {
    if (options.given.problem.kv_len == 0 || options.given.problem.heads_q == 0) {
      return Error{ErrorCode::invalid_argument, "there is nothing to measure",
                   "give --kv-len and --heads-q, or a --sweep"};
    }
    return std::vector<BenchCase>{options.given};
  }
  CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(options.sweep, kMaximumOptionFile));
  return parse_sweep(as_text(text), options.sweep);
}

Result<ExitStatus> bench_attention(const Context& context, const BenchOptions& options) {
  CUBINET_TRY_ASSIGN(const std::vector<BenchCase> cases, cases_of(context, options));
  // What no case may be is said before hours are spent on the others.
  for (const BenchCase& given : cases) {
    CUBINET_TRY_ASSIGN(const AttentionProblem problem, attention_problem_of(given.problem));
    CUBINET_TRY(kv_lengths_of(given, problem));
  }
  std::filesystem::path csv;
  if (!options.csv.empty()) {
    CUBINET_TRY_ASSIGN(
        csv, check_output_file(*context.files(), options.csv, context.protected_files({options.sweep})));
  }
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog({}));
  const InterruptGuard interrupt(InterruptGuard::First::ends);  // not by a handler of NVRTC's
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime(catalog, {}, {}, options.places));
  CUBINET_TRY_ASSIGN(const auto device, runtime->device(options.device));
  CUBINET_TRY_ASSIGN(MemoryReader reader, MemoryReader::create(*runtime, options.device));
  const Bench bench{context, options, runtime, device, std::move(reader)};
  std::vector<BenchRow> rows;
  bool good = true;
  for (const BenchCase& given : cases) {
    CUBINET_TRY_ASSIGN(const std::vector<BenchRow> measured, measure_case(bench, given));
    for (const BenchRow& row : measured) {
      good = good && row.good();
      context.console().text(to_line(row));
      rows.push_back(row);
    }
    if (!csv.empty()) {
      // As far as it has come: a sweep may take an hour.
      CUBINET_TRY(write_file_atomically(*context.files(), csv, as_bytes(csv_of(rows, options.seed))));
    }
  }
  nlohmann::json results = nlohmann::json::array();
  for (const BenchRow& row : rows)
    results.push_back(describe(row));
  context.console().document({{"device", device->properties().name},
                              {"version", CUBINET_VERSION},
                              {"rounds", options.iterations},
                              {"seed", options.seed},
                              {"results", std::move(results)}});
  return good ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_bench(CLI::App& root, Action& chosen) {
  CLI::App* bench = root.add_subcommand("bench", "Measure an operation on a GPU");
  bench->require_subcommand(0, 1);
  bench->footer("Example:\n  cubinet bench attention --batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8");
  CLI::App* verb =
      bench->add_subcommand("attention", "Attention: time, operations and bytes a second, checked");
  auto options = std::make_shared<BenchOptions>();
  add_bench_case_arguments(*verb, options->given);
  const std::vector<CLI::Option*> of_a_case = verb->get_options([](const CLI::Option* option) {
    return option->get_name() != "--help" && option->get_name() != "-h,--help";
  });
  CLI::Option* sweep =
      verb->add_option("--sweep", options->sweep, "Cases from a file, instead of the one of the line")
          ->type_name("FILE");
  for (CLI::Option* option : of_a_case) {
    option->required(false);
    sweep->excludes(option);
  }
  add_text(*verb, "--csv", options->csv, "FILE", "Write the results as a table too");
  add_integer(*verb, "--iterations", options->iterations, 1, 100'000, "Rounds to time (default: 20)");
  add_integer(*verb, "--seed", options->seed, 0, INT64_MAX, "Of the random inputs (default: 1)");
  add_integer(*verb, "--device", options->device, 0, 1023, "The GPU's number (default: 0)");
  add_places(*verb, options->places);
  add_written_cache(*verb, options->places);
  verb->footer(
      R"(Each round times a CUDA graph of 20 runs over copies of K and V that no L2 holds, and beside it a kernel that only
reads as many bytes. Before, every row of the output is compared with attention in double precision. Status 1 where one
is off, or a case cannot be run or compared: its row says why, and the others are measured all the same.

Examples:
  cubinet bench attention --batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8
  cubinet bench attention --batch 32 --kv-len 131072 --kv-lengths 131072:1024 --lengths-unknown --heads-q 64 --heads-kv 8
  cubinet bench attention --sweep bench/sweeps/speculative.txt --csv speculative.csv)");
  choose<BenchOptions>(*verb, chosen, options, bench_attention);
}

}  // namespace cubinet::cli
