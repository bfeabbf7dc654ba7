// SPDX-License-Identifier: Apache-2.0
#include "benchmark/invariance_workloads.hpp"
#include "benchmark/peer_inputs.hpp"
#include "benchmark/peers.hpp"
#include "benchmark/statistics.hpp"

#include <cubinet/attention/measure.hpp>
#include <cubinet/attention/planner.hpp>
#include <cubinet/base/absolute_path.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/session/checked_attention.hpp>
#include <cubinet/session/error_place.hpp>
#include <cubinet/session/invariance.hpp>

#include <algorithm>
#include <filesystem>
#include <new>
#include <utility>

namespace cubinet {
namespace {

constexpr std::uint32_t kTimedRuns = 20;  // of a round
constexpr std::size_t kOwnSubjects = 2;   // invariant and fast numerics, in this order

// The things that all cases share.
struct BitComparison {
  const BenchmarkOptions& options;
  Runtime& runtime;
  std::shared_ptr<const Device> device;
  AttentionPlanner planner;
  std::vector<PeerProcess> peers;
  std::shared_ptr<FileSystem> files;
  std::filesystem::path folder;  // of the peers' inputs
};

AttentionNumerics numerics_of(std::size_t own_subject) {
  return own_subject == 0 ? AttentionNumerics::invariant : AttentionNumerics::fast;
}

AttentionProblem with_numerics(AttentionProblem problem, AttentionNumerics numerics) {
  problem.numerics = numerics;
  return problem;
}

Result<OutputBits> run_ours(const BitComparison& comparison, const AttentionProblem& problem,
                            const AttentionInputs& inputs) {
  CUBINET_TRY_ASSIGN(const AttentionPlan plan, comparison.planner.plan(problem));
  CUBINET_TRY_ASSIGN(const BoundAttention attention,
                     BoundAttention::bind(comparison.runtime, plan, comparison.device->ordinal()));
  CUBINET_TRY_ASSIGN(const TensorBuffers buffers,
                     TensorBuffers::create(comparison.device, attention.plan().request.problem, inputs,
                                           attention.plan().workspace));
  CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(comparison.device));
  CUBINET_TRY(attention.check(buffers.tensors()));
  CUBINET_TRY(attention.run(buffers.tensors(), stream.handle()));
  CUBINET_TRY(stream.synchronize());
  OutputBits outputs;
  CUBINET_TRY_ASSIGN(outputs.o, buffers.output());
  CUBINET_TRY_ASSIGN(outputs.lse, buffers.lse());
  return outputs;
}

// Returns what a peer computes of the inputs in the folder.
Result<OutputBits> run_peer(BitComparison& comparison, PeerProcess& peer, const AttentionProblem& problem,
                            const AttentionInputs& inputs) {
  BenchmarkRow row;
  row.given.problem = problem;
  row.mean_kv_length = mean_length(inputs.kv_lengths);
  std::size_t tokens = std::size_t{problem.batch} * problem.q_len;
  if (problem.ragged_q) {
    tokens = 0;
    for (const std::int32_t length : inputs.q_lengths)
      tokens += static_cast<std::size_t>(length);
  }
  const std::size_t bytes =
      tokens * problem.heads_q * problem.head_dim_v * (bits_of(problem.data_type_o) / 8);
  OutputBits outputs;
  CUBINET_TRY_ASSIGN(outputs.o, output_of_peer(*comparison.files, peer,
                                               peer_question(row, inputs.kv_lengths, inputs.q_lengths, 1, 1),
                                               comparison.folder, bytes));
  return outputs;
}

// Adds rows to the last stage, or to a new one of another name.
void count_rows(const std::string& stage, std::size_t rows, std::size_t equal, InvarianceSubject& subject) {
  const auto found = std::find_if(subject.stages.begin(), subject.stages.end(),
                                  [&](const InvarianceStage& known) { return known.name == stage; });
  InvarianceStage& counted = found == subject.stages.end() ? subject.stages.emplace_back() : *found;
  counted.name = stage;
  counted.rows += rows;
  counted.equal += equal;
}

// Runs every workload by every subject. An error of ours concerns the subject, too.
Result<void> compare_rows(BitComparison& comparison, const AttentionProblem& problem, InvarianceRow& row) {
  AttentionProblem all = problem;
  all.batch = kInvariancePrompts;
  CUBINET_TRY_ASSIGN(const Prompts prompts,
                     make_prompts(all, comparison.options.seed, comparison.options.threads));
  std::vector<OutputBits> whole(row.subjects.size());
  bool is_whole = true;
  for (const InvarianceWorkload& workload : invariance_workloads(problem, comparison.options.seed)) {
    const AttentionInputs inputs =
        inputs_of_parts(prompts, workload.problem, workload.parts, false, comparison.options.seed);
    if (!comparison.peers.empty())
      CUBINET_TRY(write_peer_inputs(*comparison.files, comparison.folder, workload.problem, inputs));
    for (std::size_t i = 0; i < row.subjects.size(); ++i) {
      InvarianceSubject& subject = row.subjects[i];
      if (subject.error) continue;
      auto outputs = i < kOwnSubjects
                         ? run_ours(comparison, with_numerics(workload.problem, numerics_of(i)), inputs)
                         : run_peer(comparison, comparison.peers[i - kOwnSubjects], workload.problem, inputs);
      if (!outputs) {
        subject.error = std::move(outputs).error();
      } else if (is_whole) {
        whole[i] = *std::move(outputs);
      } else {
        const std::span<const PromptPart> compared = std::span(workload.parts).first(1);
        count_rows(workload.stage, row_count(prompts, compared),
                   equal_rows(prompts, whole[i], compared, *outputs), subject);
      }
    }
    is_whole = false;
  }
  return {};
}

// Measures the rounds: both numerics, then each peer. Every other round uses the opposite order.
Result<void> time_rounds(BitComparison& comparison, const TimedRuns& invariant, const TimedRuns& fast,
                         const nlohmann::json& question, InvarianceTimes& times) {
  PeerRounds peers(comparison.peers, question, times.invariant);
  for (int round = 0; round < comparison.options.rounds; ++round) {
    const bool backwards = round % 2 == 1;
    for (std::size_t i = peers.size(); backwards && i-- > 0;)
      peers.measure(i);
    CUBINET_TRY_ASSIGN(times.invariant.seconds.emplace_back(), invariant.seconds_a_run(1));
    CUBINET_TRY_ASSIGN(times.fast.emplace_back(), fast.seconds_a_run(1));
    for (std::size_t i = 0; !backwards && i < peers.size(); ++i)
      peers.measure(i);
  }
  peers.finish();
  return {};
}

Result<InvarianceTimes> time_stage(BitComparison& comparison, const InvarianceTiming& timing) {
  const AttentionProblem& problem = timing.problem;
  const std::vector<std::int32_t> lengths(problem.batch, static_cast<std::int32_t>(problem.kv_len));
  CUBINET_TRY(check_memory(problem, lengths, comparison.device->properties()));
  const unsigned threads = comparison.options.threads;
  CUBINET_TRY_ASSIGN(const AttentionInputs inputs,
                     inputs_in_memory(problem, lengths, comparison.options.seed, threads));
  CUBINET_TRY_ASSIGN(const AttentionOutputs reference,
                     reference_of(comparison.runtime, comparison.device, problem, inputs, threads));
  const std::uint32_t copies = cold_copies(attention_work(problem, lengths).kv_bytes, kTimedRuns);
  std::vector<CheckedAttention> checked;
  for (std::size_t i = 0; i < kOwnSubjects; ++i) {
    CUBINET_TRY_ASSIGN(const AttentionPlan plan,
                       comparison.planner.plan(with_numerics(problem, numerics_of(i))));
    CUBINET_TRY_ASSIGN(CheckedAttention made,
                       run_checked(comparison.runtime, comparison.device, plan, inputs, reference, copies));
    checked.push_back(std::move(made));
  }
  const auto capture = [&](const CheckedAttention& of) {
    return TimedRuns::capture(comparison.device, kTimedRuns, [&](std::uint32_t i, CUstream stream) {
      return of.attention.run(of.tensors(i % copies), stream);
    });
  };
  CUBINET_TRY_ASSIGN(const TimedRuns invariant, capture(checked[0]));
  CUBINET_TRY_ASSIGN(const TimedRuns fast, capture(checked[1]));
  InvarianceTimes times{timing.stage, {}, {}, checked[0].verdict.correct() && checked[1].verdict.correct()};
  times.invariant.given.problem = problem;
  times.invariant.mean_kv_length = mean_length(lengths);
  CUBINET_TRY(time_rounds(comparison, invariant, fast,
                          peer_question(times.invariant, lengths, {}, kTimedRuns, copies), times));
  return times;
}

Result<void> compare_case(BitComparison& comparison, const AttentionProblem& problem, InvarianceRow& row) {
  const std::vector<InvarianceTiming> timings = invariance_timings(problem);
  // A problem without a plan (with e4m3 KV, for example) is declined before its prompts are made.
  for (const InvarianceTiming& timing : timings)
    CUBINET_TRY(comparison.planner.plan(with_numerics(timing.problem, AttentionNumerics::invariant)));
  try {
    CUBINET_TRY(compare_rows(comparison, problem, row));
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::unavailable, "the host's memory does not suffice for the prompts",
                 "ask for a smaller batch or fewer tokens"};
  }
  for (std::size_t i = 0; i < kOwnSubjects; ++i)
    if (row.subjects[i].error) return *row.subjects[i].error;
  for (const InvarianceTiming& timing : timings) {
    CUBINET_TRY_ASSIGN(InvarianceTimes timed, time_stage(comparison, timing));
    row.times.push_back(std::move(timed));
  }
  return {};
}

Result<void> check_comparison(const BenchmarkOptions& options) {
  if (options.rounds < 1)
    return Error{ErrorCode::invalid_argument, "`BenchmarkOptions::rounds` must be at least 1"};
  if (!options.peers.empty() && options.peer_folder.empty())
    return Error{
        ErrorCode::invalid_argument,
        "`BenchmarkOptions::peers` need `BenchmarkOptions::peer_folder`: they get our inputs as files"};
  for (const BenchmarkCase& given : options.cases)
    if (auto checked = invariance_problem(given.problem); !checked)
      return with_place(std::move(checked).error(), given.where);
  return {};
}

}  // namespace

bool InvarianceSubject::keeps_bits() const {
  return !error && !stages.empty() && std::all_of(stages.begin(), stages.end(), [](const auto& stage) {
    return stage.equal == stage.rows;
  });
}

double InvarianceTimes::ratio() const {
  return median_ratio(invariant.seconds, fast);
}

bool InvarianceRow::good() const {
  return !error && subjects.front().keeps_bits() &&
         std::all_of(times.begin(), times.end(), [](const auto& timed) { return timed.correct; });
}

bool InvarianceResult::good() const {
  return std::all_of(rows.begin(), rows.end(), [](const InvarianceRow& row) { return row.good(); });
}

Result<InvarianceResult> compare_bits(const Session& session, const BenchmarkOptions& options,
                                      const Callback<void(const InvarianceRow&)>& progress) {
  CUBINET_TRY(check_comparison(options));
  CUBINET_TRY_ASSIGN(auto device, session.device(options.device));
  CUBINET_TRY_ASSIGN(AttentionPlanner planner,
                     AttentionPlanner::create(session.runtime(), device->properties()));
  CUBINET_TRY_ASSIGN(std::vector<PeerProcess> peers, start_peers(options));
  BitComparison comparison{options,          session.runtime(),   device, std::move(planner),
                           std::move(peers), posix_file_system(), {}};
  if (!options.peer_folder.empty()) {
    // A peer may have another working directory.
    CUBINET_TRY_ASSIGN(comparison.folder, absolute_path(options.peer_folder));
  }
  InvarianceResult result{device->properties().name, options.rounds, options.seed, {}};
  std::vector<AttentionProblem> known;
  for (const BenchmarkCase& given : options.cases) {
    CUBINET_TRY_ASSIGN(AttentionProblem problem, invariance_problem(given.problem));
    if (std::find(known.begin(), known.end(), problem) != known.end()) continue;
    known.push_back(std::move(problem));
    InvarianceRow row{given, {{"invariant"}, {"fast"}}, {}, {}};
    for (const PeerProcess& peer : comparison.peers)
      row.subjects.push_back({peer.name()});
    if (auto compared = compare_case(comparison, known.back(), row); !compared)
      row.error = std::move(compared).error();
    result.rows.push_back(std::move(row));
    if (progress) progress(result.rows.back());
  }
  return result;
}

}  // namespace cubinet
