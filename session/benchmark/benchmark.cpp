// SPDX-License-Identifier: Apache-2.0
#include "benchmark/alternatives.hpp"
#include "benchmark/goals.hpp"
#include "benchmark/peers.hpp"
#include "benchmark/statistics.hpp"

#include <cubinet/attention/measure.hpp>
#include <cubinet/attention/planner.hpp>
#include <cubinet/session/benchmark.hpp>
#include <cubinet/session/checked_attention.hpp>
#include <cubinet/session/checked_shared_prefix.hpp>
#include <cubinet/session/error_place.hpp>

#include <algorithm>
#include <optional>

namespace cubinet {
namespace {

constexpr std::uint32_t kRunsOfRound = 20;

// The things that all cases share.
struct Bench {
  const BenchmarkOptions& options;
  Runtime& runtime;
  std::shared_ptr<const Device> device;
  MemoryReader reader;
  std::vector<PeerProcess> peers;

  bool is_cancelled() const { return options.cancelled && options.cancelled(); }
};

// Returns the problem of a case with a shared prefix. `kv_lengths` may be empty.
Result<SharedPrefixProblem> shared_problem_of(const BenchmarkCase& given,
                                              const std::vector<std::int32_t>& kv_lengths) {
  AttentionProblem whole = given.problem;
  whole.kv_lengths = kv_lengths;
  return one_prefix_problem(std::move(whole), given.shared_prefix);
}

// Checks a member of a case that has a length for each sequence, or none.
Result<void> check_lengths(const char* member, const std::vector<std::int32_t>& lengths, std::uint32_t batch,
                           std::uint32_t most) {
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorCode::invalid_argument, std::string("`BenchmarkCase::") + member + "`: " + why};
  };
  if (!lengths.empty() && lengths.size() != batch)
    return wrong(std::to_string(lengths.size()) + " lengths for a batch of " + std::to_string(batch));
  for (const std::int32_t length : lengths) {
    if (length < 0 || static_cast<std::uint32_t>(length) > most)
      return wrong(std::to_string(length) + " is not between 0 and " + std::to_string(most));
  }
  return {};
}

Result<void> check_case(const BenchmarkCase& given) {
  CUBINET_TRY(check_problem(given.problem));
  CUBINET_TRY(check_lengths("kv_lengths", given.kv_lengths, given.problem.batch, given.problem.kv_len));
  if (!given.q_lengths.empty() && !given.problem.ragged_q) {
    return Error{ErrorCode::invalid_argument,
                 "`BenchmarkCase::q_lengths` needs `AttentionProblem::ragged_q`, which is off"};
  }
  CUBINET_TRY(check_lengths("q_lengths", given.q_lengths, given.problem.batch, given.problem.q_len));
  if (given.shared_prefix > 0) CUBINET_TRY(shared_problem_of(given, given.kv_lengths));
  return {};  // a case that no kernel serves is a row with its reason
}

Result<void> check_cases(const BenchmarkOptions& options) {
  if (options.rounds < 1)
    return Error{ErrorCode::invalid_argument, "`BenchmarkOptions::rounds` must be at least 1"};
  for (const BenchmarkCase& given : options.cases)
    if (auto checked = check_case(given); !checked)
      return with_place(std::move(checked).error(), given.where);
  return check_goals(options.cases);
}

// Measures the rounds. Each round runs our kernel, a kernel that only reads, then each peer. Every
// other round uses the opposite order.
Result<void> measure_rounds(Bench& bench, const TimedRuns& runs, const TimedRuns& reads,
                            const nlohmann::json& question, BenchmarkRow& row) {
  PeerRounds peers(bench.peers, question, row);
  for (int round = 0; round < bench.options.rounds; ++round) {
    if (bench.is_cancelled()) return Error{ErrorCode::unavailable, "the benchmark was cancelled"};
    const bool backwards = round % 2 == 1;
    for (std::size_t i = peers.size(); backwards && i-- > 0;)
      peers.measure(i);
    CUBINET_TRY_ASSIGN(row.seconds.emplace_back(), runs.seconds_a_run(1));
    CUBINET_TRY_ASSIGN(row.read_seconds.emplace_back(), reads.seconds_a_run(1));
    for (std::size_t i = 0; !backwards && i < peers.size(); ++i)
      peers.measure(i);
  }
  peers.finish();
  return {};
}

// Reads as many bytes of K and V from a copy as a run reads. `tensors` are those of the first copy.
Result<void> read_copy(const MemoryReader& reader, const AttentionTensors& tensors, std::uint32_t copies,
                       const BenchmarkRow& row, std::uint32_t copy, CUstream stream) {
  const auto part = [&](DeviceTensor tensor, double share) {
    const std::uint64_t bytes = tensor.bytes / copies;
    const auto read = static_cast<std::uint64_t>(row.kv_bytes * share);
    return DeviceTensor{tensor.address + copy * bytes, std::min(bytes, read), {}};
  };
  if (row.given.problem.is_mla_generation()) return reader.run(part(tensors.k, 1), {}, stream);
  const double share =
      static_cast<double>(tensors.k.bytes) / static_cast<double>(tensors.k.bytes + tensors.v.bytes);
  return reader.run(part(tensors.k, share), part(tensors.v, 1 - share), stream);
}

PlanOptions options_of(const BenchmarkRow& row) {
  PlanOptions options;
  options.backend = row.requested;
  options.starts_early = row.given.starts_early;
  options.rules = row.given.rules;
  if (row.given.splits > 0) options.splits = row.given.splits;
  return options;
}

// Plans the case of a row for its backend. Returns unsupported if the backend declines.
Result<AttentionPlan> plan_of(const AttentionPlanner& planner, const AttentionInputs& inputs,
                              BenchmarkRow& row) {
  AttentionProblem planned = row.given.problem;
  if (!row.given.lengths_unknown) planned.kv_lengths = inputs.kv_lengths;
  CUBINET_TRY_ASSIGN(AttentionPlan plan, planner.plan(planned, options_of(row)));
  row.backend = plan.backend_name();
  row.choice = plan.measured;
  return plan;
}

BenchmarkAccuracy accuracy_of(const AttentionVerdict& verdict) {
  return {verdict.correct(),       verdict.error.worst_row, verdict.error.all_rows,
          verdict.error.worst_lse, verdict.allowed,         verdict.allowed_lse};
}

// Captures runs of a checked attention over its copies of K and V, and measures the rounds.
template <class Checked>
Result<void> time_row(Bench& bench, const Checked& checked, const AttentionTensors& first,
                      std::uint32_t copies, const nlohmann::json& question, BenchmarkRow& row) {
  const auto run = [&](std::uint32_t i, CUstream stream) {
    return checked.attention.run(checked.tensors(i % copies), stream);
  };
  const auto read = [&](std::uint32_t i, CUstream stream) {
    return read_copy(bench.reader, first, copies, row, i % copies, stream);
  };
  CUBINET_TRY_ASSIGN(const TimedRuns runs, TimedRuns::capture(bench.device, kRunsOfRound, run));
  CUBINET_TRY_ASSIGN(const TimedRuns reads, TimedRuns::capture(bench.device, kRunsOfRound, read));
  return measure_rounds(bench, runs, reads, question, row);
}

Result<void> measure_row(Bench& bench, const AttentionInputs& inputs, const AttentionOutputs& reference,
                         BenchmarkRow& row) {
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner,
                     AttentionPlanner::create(bench.runtime, bench.device->properties()));
  CUBINET_TRY_ASSIGN(const AttentionPlan plan, plan_of(planner, inputs, row));
  std::optional<PlanAlternatives> alternatives;
  if (bench.options.alternatives) {
    CUBINET_TRY_ASSIGN(alternatives, PlanAlternatives::bind(bench.runtime, planner, plan,
                                                            bench.options.device, bench.options.threads));
  }
  CUBINET_TRY_ASSIGN(const CheckedAttention checked,
                     run_checked(bench.runtime, bench.device, plan, inputs, reference,
                                 cold_copies(row.kv_bytes, kRunsOfRound),
                                 alternatives ? alternatives->workspace() : WorkspaceSizes()));
  row.accuracy = accuracy_of(checked.verdict);
  row.splits = checked.attention.plan().division.kv_splits;
  const std::uint32_t copies = checked.buffers.copies();
  const nlohmann::json question =
      peer_question(row, inputs.kv_lengths, inputs.q_lengths, kRunsOfRound, copies);
  CUBINET_TRY(time_row(bench, checked, checked.tensors(), copies, question, row));
  if (alternatives) {
    CUBINET_TRY(alternatives->measure(bench.device, checked, inputs, reference, kRunsOfRound,
                                      bench.options.cancelled, row));
  }
  if (bench.options.peer_folder.empty()) return {};
  return compare_peers(bench.peers, bench.options.peer_folder, inputs, reference, question, row);
}

Result<void> measure_shared_row(Bench& bench, const SharedPrefixCase& given,
                                const std::vector<std::int32_t>& kv_lengths, BenchmarkRow& row) {
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner,
                     AttentionPlanner::create(bench.runtime, bench.device->properties()));
  const SharedPrefixProblem planned =
      row.given.lengths_unknown ? without_lengths(given.problem) : given.problem;
  CUBINET_TRY_ASSIGN(const SharedPrefixPlan plan, plan_shared_prefix(planned, planner, options_of(row)));
  row.backend = plan.own.plan.backend_name();
  row.choice = plan.own.plan.measured;
  CUBINET_TRY_ASSIGN(const CheckedSharedPrefix checked, run_checked(bench.runtime, bench.device, plan, given,
                                                                    cold_copies(row.kv_bytes, kRunsOfRound)));
  row.accuracy = accuracy_of(checked.verdict);
  row.splits = plan.own.plan.division.kv_splits;
  const std::uint32_t copies = checked.buffers.own.copies();
  const nlohmann::json question =
      peer_question(row, kv_lengths, given.inputs.own.q_lengths, kRunsOfRound, copies);
  return time_row(bench, checked, checked.tensors().own, copies, question, row);
}

void set_work(const AttentionWork& work, BenchmarkRow& row) {
  row.operations = work.operations;
  row.kv_bytes = work.kv_bytes;
  row.bytes = work.bytes;
}

Result<void> measure_shared_rows(Bench& bench, const std::vector<std::int32_t>& lengths,
                                 std::span<BenchmarkRow> rows) {
  const BenchmarkCase& given = rows.front().given;
  CUBINET_TRY_ASSIGN(const SharedPrefixProblem problem, shared_problem_of(given, lengths));
  CUBINET_TRY(check_shared_prefix(problem));
  CUBINET_TRY(check_memory(problem.own, problem.own.kv_lengths, bench.device->properties()));
  CUBINET_TRY_ASSIGN(const SharedPrefixCase made,
                     make_shared_prefix_case(bench.runtime, bench.device, problem, problem.own.kv_lengths,
                                             bench.options.seed, bench.options.threads, given.q_lengths));
  for (BenchmarkRow& row : rows) {
    set_work(made.work, row);
    if (auto measured = measure_shared_row(bench, made, lengths, row); !measured)
      row.error = std::move(measured).error();
  }
  return {};
}

// Measures the rows of one case, one for each backend. An error concerns the whole case; the error
// of one backend is in its row.
Result<void> measure_rows(Bench& bench, const std::vector<std::int32_t>& lengths,
                          std::span<BenchmarkRow> rows) {
  if (rows.front().given.shared_prefix > 0) return measure_shared_rows(bench, lengths, rows);
  const AttentionProblem& problem = rows.front().given.problem;
  CUBINET_TRY(check_memory(problem, lengths, bench.device->properties()));
  CUBINET_TRY_ASSIGN(const AttentionInputs inputs,
                     inputs_in_memory(problem, lengths, bench.options.seed, bench.options.threads,
                                      rows.front().given.q_lengths));
  CUBINET_TRY_ASSIGN(const AttentionOutputs reference,
                     reference_of(bench.runtime, bench.device, problem, inputs, bench.options.threads));
  const AttentionWork work = attention_work(problem, lengths, inputs.q_lengths);
  for (BenchmarkRow& row : rows) {
    set_work(work, row);
    if (auto measured = measure_row(bench, inputs, reference, row); !measured)
      row.error = std::move(measured).error();
  }
  return {};
}

std::vector<BenchmarkRow> measure_case(Bench& bench, const BenchmarkCase& given) {
  std::vector<std::int32_t> lengths = given.kv_lengths;
  if (lengths.empty()) lengths.assign(given.problem.batch, static_cast<std::int32_t>(given.problem.kv_len));
  BenchmarkRow row;
  row.given = given;
  row.given.problem.kv_lengths.clear();
  row.mean_kv_length = mean_length(lengths);
  const std::vector<std::string> automatic = {std::string(kAutomaticBackend)};
  std::vector<BenchmarkRow> rows;
  for (const std::string& backend : given.backends.empty() ? automatic : given.backends) {
    rows.push_back(row);
    rows.back().requested = backend;
  }
  if (const auto measured = measure_rows(bench, lengths, rows); !measured) {
    for (BenchmarkRow& failed : rows)
      failed.error = measured.error();
  }
  return rows;
}

}  // namespace

Result<BenchmarkResult> benchmark(const Session& session, const BenchmarkOptions& options) {
  CUBINET_TRY(check_cases(options));
  CUBINET_TRY_ASSIGN(auto device, session.device(options.device));
  CUBINET_TRY_ASSIGN(MemoryReader reader, MemoryReader::create(session.runtime(), options.device));
  CUBINET_TRY_ASSIGN(std::vector<PeerProcess> peers, start_peers(options));
  Bench bench{options, session.runtime(), device, std::move(reader), std::move(peers)};
  BenchmarkResult result{device->properties().name, options.rounds, options.seed, {}};
  for (std::size_t i = 0; i < options.cases.size(); ++i) {
    if ((result.cancelled = bench.is_cancelled())) break;
    std::vector<BenchmarkRow> measured = measure_case(bench, options.cases[i]);
    const bool failed =
        std::any_of(measured.begin(), measured.end(), [](const auto& row) { return row.error.has_value(); });
    if ((result.cancelled = failed && bench.is_cancelled())) break;
    const std::size_t first = result.rows.size();
    result.rows.insert(result.rows.end(), std::make_move_iterator(measured.begin()),
                       std::make_move_iterator(measured.end()));
    judge_goals(result.rows);
    const std::span<const BenchmarkRow> rows = result.rows;
    if (options.progress) options.progress({i + 1, options.cases.size(), rows, rows.subspan(first)});
  }
  return result;
}

}  // namespace cubinet
