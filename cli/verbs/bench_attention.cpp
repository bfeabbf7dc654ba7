// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "bench_goals.hpp"
#include "bench_report.hpp"
#include "interrupt.hpp"
#include "option_lines.hpp"
#include "output_file.hpp"
#include "peer_inputs.hpp"
#include "peer_process.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/attention/planner.hpp>
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
  std::vector<std::string> peers;
  std::string peer_inputs;
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
  std::vector<PeerProcess>& peers;
};

// A peer makes its own inputs and compiles what it needs.
constexpr std::chrono::seconds kToPrepare{900};
constexpr std::chrono::seconds kToMeasure{120};

// What it answers under this name, or why it does not take part.
Result<std::string> ask_for(const char* name, PeerProcess& peer, const nlohmann::json& question) {
  CUBINET_TRY_ASSIGN(const nlohmann::json answer, peer.ask(question, kToPrepare));
  const auto text = [&](const char* key) {
    const auto found = answer.find(key);
    return found != answer.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (std::string found = text(name); !found.empty()) return found;
  const std::string declined = text("declined");
  return Error{ErrorCode::unsupported, declined.empty() ? "it answered " + answer.dump() : declined};
}

Result<double> time_peer(PeerProcess& peer) {
  CUBINET_TRY_ASSIGN(const nlohmann::json answer, peer.ask({{"time", 1}}, kToMeasure));
  const auto seconds = answer.find("seconds");
  if (seconds != answer.end() && seconds->is_number() && seconds->get<double>() > 0)
    return seconds->get<double>();
  return Error{ErrorCode::io, "the peer " + peer.name() + " measured nothing: " + answer.dump()};
}

// The rounds: ours, a kernel that only reads, then each peer that takes part, and backwards in every other
// one.
Result<void> measure_rounds(const Bench& bench, const TimedRuns& runs, const TimedRuns& reads,
                            const nlohmann::json& question, BenchRow& row) {
  std::vector<std::optional<Error>> out(bench.peers.size());
  for (std::size_t i = 0; i < bench.peers.size(); ++i) {
    row.peers.push_back({bench.peers[i].name(), "", {}});
    if (auto ready = ask_for("ready", bench.peers[i], question)) {
      row.peers[i].what = *std::move(ready);
    } else {
      out[i] = std::move(ready).error();
    }
  }
  const auto measure_peer = [&](std::size_t i) {
    if (out[i]) return;
    if (const auto seconds = time_peer(bench.peers[i])) {
      row.peers[i].seconds.push_back(*seconds);
    } else {
      out[i] = seconds.error();
    }
  };
  for (int round = 0; round < bench.options.iterations; ++round) {
    const bool backwards = round % 2 == 1;
    for (std::size_t i = bench.peers.size(); backwards && i-- > 0;)
      measure_peer(i);
    CUBINET_TRY_ASSIGN(row.seconds.emplace_back(), runs.seconds_a_run(1));
    CUBINET_TRY_ASSIGN(row.read_seconds.emplace_back(), reads.seconds_a_run(1));
    for (std::size_t i = 0; !backwards && i < bench.peers.size(); ++i)
      measure_peer(i);
  }
  for (std::size_t i = 0; i < bench.peers.size(); ++i) {
    if (!out[i]) continue;
    row.peers[i].what = out[i]->to_line();
    row.peers[i].seconds.clear();  // no ratio of a part of the rounds
  }
  return {};
}

// What each peer that took part computes of our inputs, beside the reference.
Result<void> measure_errors(const Bench& bench, const AttentionInputs& inputs,
                            const AttentionOutputs& reference, nlohmann::json question, BenchRow& row) {
  FileSystem& files = *bench.context.files();
  // Theirs has another working directory, perhaps.
  const std::filesystem::path folder = std::filesystem::absolute(bench.options.peer_inputs);
  CUBINET_TRY(write_peer_inputs(files, folder, row.problem, inputs));
  question["inputs"] = folder.string();
  for (std::size_t i = 0; i < bench.peers.size(); ++i) {
    PeerTimes& peer = row.peers[i];
    if (peer.seconds.empty()) continue;
    const auto error = [&]() -> Result<double> {
      CUBINET_TRY(ask_for("ready", bench.peers[i], question));
      const std::filesystem::path output = folder / "output";
      CUBINET_TRY(files.remove(output));  // of the peer before
      CUBINET_TRY(ask_for("written", bench.peers[i], {{"output", output.string()}}));
      CUBINET_TRY_ASSIGN(const AttentionDeviation apart,
                         compare_peer_output(files, output, row.problem, reference));
      return apart.all_rows;
    }();
    if (error) {
      peer.error = *error;
    } else {
      peer.what += "; no output: " + error.error().to_line();
    }
  }
  return {};
}

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
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner,
                     AttentionPlanner::create(*bench.runtime, bench.device->properties()));
  CUBINET_TRY_ASSIGN(const AttentionResolution resolution, planner.resolve(planned, wishes));
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
  nlohmann::json problem = describe_case(row);
  problem["kv_lengths"] = inputs.kv_lengths;
  const nlohmann::json question = {
      {"problem", std::move(problem)}, {"runs", kRunsOfBench}, {"copies", copies}};
  CUBINET_TRY(measure_rounds(bench, runs, reads, question, row));
  return bench.options.peer_inputs.empty() ? Result<void>()
                                           : measure_errors(bench, inputs, reference, question, row);
}

// Rows are there, one a backend, with their case and problem. An error is of the case itself; what one
// backend cannot do stands in its row.
Result<void> measure_rows(const Bench& bench, const std::vector<std::int32_t>& lengths,
                          std::vector<BenchRow>& rows) {
  const AttentionProblem& problem = rows.front().problem;
  CUBINET_TRY(check_memory(problem, lengths, bench.device->properties()));
  CUBINET_TRY_ASSIGN(const AttentionInputs inputs,
                     inputs_in_memory(bench.context, problem, lengths, bench.options.seed));
  CUBINET_TRY_ASSIGN(const AttentionOutputs reference,
                     attention_reference(problem, inputs, bench.context.jobs()));
  const AttentionWork work = attention_work(problem, lengths, inputs.q_lengths);
  for (BenchRow& row : rows) {
    row.work = work;
    if (auto measured = measure_row(bench, inputs, reference, row); !measured)
      row.error = std::move(measured).error();
  }
  return {};
}

Result<std::vector<BenchRow>> measure_case(const Bench& bench, const BenchCase& given) {
  BenchRow row;
  row.measured = given;
  CUBINET_TRY_ASSIGN(row.problem, attention_problem_of(given.problem));
  CUBINET_TRY_ASSIGN(const std::vector<std::int32_t> lengths, kv_lengths_of(given, row.problem));
  for (const std::int32_t length : lengths)
    row.mean_kv_length += static_cast<double>(length) / static_cast<double>(lengths.size());
  const std::vector<std::string> automatic = {std::string(kAutomaticBackend)};
  std::vector<BenchRow> rows;
  for (const std::string& backend : given.backends.empty() ? automatic : given.backends) {
    rows.push_back(row);
    rows.back().requested = backend;
  }
  if (const auto measured = measure_rows(bench, lengths, rows); !measured) {
    for (BenchRow& failed : rows)
      failed.error = measured.error();
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
  CUBINET_TRY(check_goals(cases));
  if (!options.peer_inputs.empty()) {  // a name in it is as good as any
    CUBINET_TRY(check_output_file(*context.files(), options.peer_inputs + "/output"));
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
  std::vector<PeerProcess> peers;
  for (const std::string& option : options.peers) {
    CUBINET_TRY_ASSIGN(PeerProcess peer, PeerProcess::start(option));
    for (const PeerProcess& other : peers) {
      if (other.name() != peer.name()) continue;
      return Error{ErrorCode::invalid_argument, "--peer: two are named '" + printable(peer.name()) + "'",
                   "give each a name of its own, by which goals know it"};
    }
    peers.push_back(std::move(peer));
  }
  const Bench bench{context, options, runtime, device, std::move(reader), peers};
  std::vector<BenchRow> rows;
  bool good = true;
  std::optional<Error> not_written;
  for (const BenchCase& given : cases) {
    CUBINET_TRY_ASSIGN(const std::vector<BenchRow> measured, measure_case(bench, given));
    rows.insert(rows.end(), measured.begin(), measured.end());
    judge_goals(rows);
    for (std::size_t i = rows.size() - measured.size(); i < rows.size(); ++i) {
      good = good && rows[i].good();
      context.console().text(to_line(rows[i]));
    }
    if (csv.empty()) continue;
    // As far as it has come: a sweep may take an hour, and what cannot be written now may be in the end.
    const auto written = write_file_atomically(*context.files(), csv, as_bytes(csv_of(rows, options.seed)));
    not_written = written ? std::nullopt : std::optional(written.error());
  }
  if (const std::string summary = summary_of_goals(rows); !summary.empty()) context.console().text(summary);
  nlohmann::json results = nlohmann::json::array();
  for (const BenchRow& row : rows)
    results.push_back(describe(row));
  context.console().document({{"device", device->properties().name},
                              {"version", CUBINET_VERSION},
                              {"rounds", options.iterations},
                              {"seed", options.seed},
                              {"results", std::move(results)}});
  if (not_written) return *std::move(not_written);
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
  CLI::Option* peer =
      verb->add_option("--peer", options->peers,
                       "Another implementation, a process that is asked in the same rounds; may be repeated")
          ->allow_extra_args(false)
          ->type_name("NAME=COMMAND");
  add_text(*verb, "--peer-inputs", options->peer_inputs, "FOLDER",
           "Give the peers our inputs too, as files there, and compare what they compute of them")
      ->needs(peer);
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
  cubinet bench attention --sweep bench/sweeps/speculative.txt --csv speculative.csv
  cubinet bench attention --sweep bench/sweeps/decode.txt --peer "FlashInfer=python3 bench/peers/attention_peer.py flashinfer")");
  choose<BenchOptions>(*verb, chosen, options, bench_attention);
}

}  // namespace cubinet::cli
