// SPDX-License-Identifier: Apache-2.0
#include "tuning/timing_inputs.hpp"
#include "tuning/tuned_plan.hpp"

#include <cubinet/attention/measure.hpp>
#include <cubinet/attention/planner.hpp>
#include <cubinet/attention/reference_values.hpp>
#include <cubinet/attention/tuning.hpp>
#include <cubinet/attention/tuning_candidates.hpp>
#include <cubinet/base/parallel.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/runtime.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <new>
#include <thread>

namespace cubinet {
namespace {

// The bytes of K and V that a graph reads, and the operations that it computes: long enough to be
// timed, short enough for a hundred candidates.
constexpr double kGraphBytes = 8e9;
constexpr double kGraphOperations = 2e13;
constexpr double kFewestRuns = 4;
constexpr double kMostRuns = 128;
// Candidates within this factor of the fastest stay after the first timing.
constexpr double kStillFast = 1.1;
constexpr std::size_t kMostFinalists = 8;
constexpr int kRounds = 9;
constexpr int kFewestRounds = 3;
// The model's choice stays unless another is faster by more than the difference between two
// measurements of one kernel.
constexpr double kGain = 0.99;
// The largest difference between the outputs of two correct kernels, relative to their norm. The
// first is for 8-bit types, which round queries or the output.
constexpr double kApartOfNarrow = 0.1;
constexpr double kApart = 0.02;
// The same with V of ones, for products of 8 bits, whose sums tensor cores may cut. It is a third
// of what rounded weights cost with random V.
constexpr double kSumsApart = 0.01;
// The share of the budget that compilation may take.
constexpr double kShareOfBinding = 0.5;

// The KV lengths of a run: those of the problem, or the longest that its row serves.
enum class Length { measured, longest };

// A loaded candidate and its times.
struct TimedCandidate {
  BoundAttention attention;
  AttentionPlan planned;  // the plan that its options ask for
  // Its kernel with the longest KV that its row would serve, if that is compared.
  std::optional<BoundAttention> longest = {};
  std::vector<double> seconds = {};

  const BoundAttention& at(Length length) const { return length == Length::longest ? *longest : attention; }
  double median() const {  // REQUIRES: at least one time
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

Result<void> check_not_capturing(const Device& device, CUstream stream) {
  for (const CUstream asked : {CUstream{nullptr}, stream}) {
    CUBINET_TRY_ASSIGN(const bool capturing, is_capturing(device, asked));
    if (!capturing) continue;
    return Error{ErrorCode::busy,
                 "attention is not measured while a stream of " + device.properties().to_string() +
                     " is being captured",
                 "measure before the capture begins"};
  }
  return {};
}

// Converts the output of a run to the reference for the other candidates.
AttentionOutputs outputs_of(const AttentionProblem& problem, const Bytes& o) {
  AttentionOutputs outputs;
  outputs.o.resize(o.size() / (bits_of(problem.data_type_o) / 8));
  for (std::size_t i = 0; i < outputs.o.size(); ++i)
    outputs.o[i] = stored_element(o, i, problem.data_type_o);
  outputs.lse.resize(outputs.o.size() / problem.head_dim_v);
  return outputs;
}

std::uint32_t runs_of(const AttentionWork& work) {
  const double runs =
      std::min(kGraphBytes / std::max(work.kv_bytes, 1.0), kGraphOperations / std::max(work.operations, 1.0));
  return std::bit_floor(static_cast<std::uint32_t>(std::clamp(runs, kFewestRuns, kMostRuns)));
}

class Tuning {
 public:
  Tuning(Runtime& runtime, std::shared_ptr<const Device> device, AttentionProblem problem,
         const TuneAttentionOptions& options)
      : runtime_(runtime),
        device_(std::move(device)),
        problem_(std::move(problem)),
        longest_(longest_served(problem_)),
        budget_(options.budget_seconds),
        cancelled_(options.cancelled) {}

  Result<TuningTable::Row> run(const DeviceTensor& scratch) {
    // Allocate the whole sequence, not only the visible window.
    AttentionProblem whole = problem_;
    whole.window = kUnlimited;
    CUBINET_TRY(check_memory(whole, problem_.kv_lengths, properties()));
    CUBINET_TRY(bind(kShareOfBinding * budget_));
    CUBINET_TRY(measure(scratch));
    return row();
  }

 private:
  const DeviceProperties& properties() const { return device_->properties(); }
  bool is_cancelled() const { return cancelled_ && cancelled_(); }
  Result<void> check_cancelled() const {
    return is_cancelled() ? Result<void>(Error{ErrorCode::unavailable, "the measurement was cancelled"})
                          : Result<void>();
  }

  Result<void> bind(double seconds);
  Result<void> bind_longest();
  // Returns tensors whose copies of K and V exceed L2. Those of the longest KV have V of ones and
  // one copy.
  Result<TensorBuffers> buffers(const DeviceTensor& scratch, Length length) const;
  Result<void> run_one(const BoundAttention& attention, const TensorBuffers& tensors, std::uint32_t copy,
                       CUstream stream) const;
  bool sums_may_differ() const {
    return candidates_.size() > 1 &&
           std::any_of(candidates_.begin(), candidates_.end(), [](const TimedCandidate& candidate) {
             return cubinet::sums_may_differ(candidate.planned);
           });
  }
  Result<void> keep_those_that_agree(const TensorBuffers& tensors, Length length, double apart);
  Result<void> measure(const DeviceTensor& scratch);
  TuningTable::Row row() const;

  Runtime& runtime_;
  const std::shared_ptr<const Device> device_;
  const AttentionProblem problem_;
  const AttentionProblem longest_;  // for the comparison of sums, whose error grows with the tokens
  const double budget_;
  const Callback<bool()> cancelled_;
  const Stopwatch elapsed_;
  std::vector<TimedCandidate> candidates_;  // the model's choice first
  std::size_t best_ = 0;                    // the fastest of the measured candidates
};

// Compiles missing kernels on all cores.
Result<void> Tuning::bind(double seconds) {
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner,
                     AttentionPlanner::create(runtime_, DeviceFacts::of(properties())));
  CUBINET_TRY_ASSIGN(const std::vector<AttentionPlan> plans,
                     tuning_candidates(planner.request(problem_), planner.backends()));
  std::vector<Result<BoundAttention>> bound(plans.size(), Error{ErrorCode::busy, "the budget is spent"});
  parallel_for(plans.size(), 0, [&](std::size_t i) {
    if (!is_cancelled() && (i == 0 || elapsed_.seconds() < seconds))
      bound[i] = BoundAttention::bind(runtime_, plans[i], properties().ordinal);
  });
  CUBINET_TRY(check_cancelled());
  if (!bound.front()) return bound.front().error();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (bound[i]) candidates_.push_back({*std::move(bound[i]), plans[i]});
  }
  return {};
}

// Splits would shorten the sums, and a plan that uses the row may have none.
Result<void> Tuning::bind_longest() {
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner,
                     AttentionPlanner::create(runtime_, DeviceFacts::of(properties())));
  for (TimedCandidate& candidate : candidates_) {
    PlanOptions options = candidate.planned.request.options;
    options.backend = candidate.planned.backend_name();
    if (options.kernel) options.splits = 1;
    CUBINET_TRY_ASSIGN(const AttentionPlan plan, planner.plan(longest_, std::move(options)));
    CUBINET_TRY_ASSIGN(candidate.longest, BoundAttention::bind(runtime_, plan, properties().ordinal));
  }
  return {};
}

Result<TensorBuffers> Tuning::buffers(const DeviceTensor& scratch, Length length) const {
  WorkspaceSizes largest;
  for (const TimedCandidate& candidate : candidates_) {
    const WorkspaceSizes& workspace = candidate.at(length).plan().workspace;
    largest.scratch_bytes = std::max(largest.scratch_bytes, workspace.scratch_bytes);
    largest.counter_bytes = std::max(largest.counter_bytes, workspace.counter_bytes);
  }
  const AttentionWork work = attention_work(problem_, problem_.kv_lengths);
  try {
    if (length == Length::longest)
      return TensorBuffers::create(device_, longest_, inputs_with_v_of_ones(longest_), largest, 1, scratch);
    return TensorBuffers::create(device_, problem_, timing_inputs(problem_), largest,
                                 cold_copies(work.kv_bytes, runs_of(work)), scratch);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::unavailable, "the host's memory does not suffice for the tensors to measure with",
                 "ask for a smaller batch or fewer query tokens"};
  }
}

Result<void> Tuning::run_one(const BoundAttention& attention, const TensorBuffers& tensors,
                             std::uint32_t copy, CUstream stream) const {
  AttentionTensors of_run = tensors.tensors(copy);
  if (!problem_.lse) of_run.lse = {};
  return attention.run(of_run, stream);
}

// Removes each candidate whose result differs from that of the model's choice by more than
// `apart`.
Result<void> Tuning::keep_those_that_agree(const TensorBuffers& tensors, Length length, double apart) {
  const AttentionProblem& problem = length == Length::longest ? longest_ : problem_;
  CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(device_));
  AttentionOutputs expected;
  std::vector<TimedCandidate> kept;
  for (TimedCandidate& candidate : candidates_) {
    CUBINET_TRY(check_cancelled());
    CUBINET_TRY(tensors.poison(/*scratch=*/false));
    CUBINET_TRY(run_one(candidate.at(length), tensors, 0, stream.handle()));
    CUBINET_TRY(stream.synchronize());
    CUBINET_TRY_ASSIGN(const Bytes o, tensors.output());
    if (kept.empty()) {
      expected = outputs_of(problem, o);
    } else {
      CUBINET_TRY_ASSIGN(const AttentionDeviation found, compare_attention(problem, expected, o, {}));
      if (!(found.all_rows <= apart)) continue;
    }
    kept.push_back(std::move(candidate));
  }
  candidates_ = std::move(kept);
  return {};
}

Result<void> Tuning::measure(const DeviceTensor& scratch) {
  if (sums_may_differ()) {
    CUBINET_TRY(check_memory(longest_, longest_.kv_lengths, properties()));
    CUBINET_TRY(bind_longest());
    CUBINET_TRY_ASSIGN(const TensorBuffers ones, buffers(scratch, Length::longest));
    CUBINET_TRY(keep_those_that_agree(ones, Length::longest, kSumsApart));
  }
  CUBINET_TRY_ASSIGN(const TensorBuffers tensors_on_device, buffers(scratch, Length::measured));
  const bool narrow = bits_of(problem_.data_type_q) == 8 || bits_of(problem_.data_type_o) == 8;
  CUBINET_TRY(keep_those_that_agree(tensors_on_device, Length::measured, narrow ? kApartOfNarrow : kApart));
  const std::uint32_t runs = runs_of(attention_work(problem_, problem_.kv_lengths));
  std::vector<TimedRuns> graphs;
  for (TimedCandidate& candidate : candidates_) {
    const auto run = [&](std::uint32_t i, CUstream stream) {
      return run_one(candidate.attention, tensors_on_device, i % tensors_on_device.copies(), stream);
    };
    CUBINET_TRY_ASSIGN(TimedRuns graph, TimedRuns::capture(device_, runs, run));
    graphs.push_back(std::move(graph));
  }
  const auto time = [&](std::size_t i) -> Result<void> {
    CUBINET_TRY(check_cancelled());
    CUBINET_TRY_ASSIGN(candidates_[i].seconds.emplace_back(), graphs[i].seconds_a_run(1));
    return {};
  };
  std::vector<std::size_t> order(candidates_.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    CUBINET_TRY(time(i));
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return candidates_[a].seconds.front() < candidates_[b].seconds.front();
  });
  const double fastest = candidates_[order.front()].seconds.front();
  std::vector<std::size_t> finalists = {0};
  for (const std::size_t i : order) {
    const bool fast = candidates_[i].seconds.front() <= kStillFast * fastest;
    if (i != 0 && fast && finalists.size() < kMostFinalists) finalists.push_back(i);
  }
  // Times the candidates in turn, so that drifting clocks affect all of them equally. Discards
  // earlier measurements.
  const auto time_in_turn = [&](const std::vector<std::size_t>& of) -> Result<void> {
    for (TimedCandidate& candidate : candidates_)
      candidate.seconds.clear();
    for (int round = 0; round < kRounds && (round < kFewestRounds || elapsed_.seconds() < budget_); ++round) {
      for (const std::size_t i : of)
        CUBINET_TRY(time(i));
    }
    return {};
  };
  CUBINET_TRY(time_in_turn(finalists));
  best_ = *std::min_element(finalists.begin(), finalists.end(), [&](std::size_t a, std::size_t b) {
    return candidates_[a].median() < candidates_[b].median();
  });
  // The smallest of several medians is partly luck, so it is measured once more.
  return time_in_turn(best_ == 0 ? std::vector<std::size_t>{0} : std::vector<std::size_t>{0, best_});
}

TuningTable::Row Tuning::row() const {
  const TimedCandidate& model = candidates_.front();
  const TimedCandidate* best = &candidates_[best_];
  if (best->median() > kGain * model.median()) best = &model;
  TuningTable::Row row;
  row.problem = tuning_problem(problem_);
  row.batch = problem_.batch;
  row.kv_len = problem_.kv_len;
  row.device = tuning_device(properties().name, DeviceFacts::of(properties()));
  row.driver = static_cast<std::uint32_t>(device_->driver()->version());
  row.version = best->planned.kernel_version;
  row.backend = best->planned.backend_name();
  const PlanOptions& options = best->planned.request.options;
  if (options.kernel) row.kernel = *options.kernel;
  row.splits = options.splits.value_or(0);
  row.microseconds = best->median() * 1e6;
  row.modelled_microseconds = model.median() * 1e6;
  row.candidates = static_cast<std::uint32_t>(candidates_.size());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  row.measured = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  return row;
}

}  // namespace

Result<TuningTable::Row> tune_attention(Runtime& runtime, const AttentionProblem& problem, int device,
                                        const TuneAttentionOptions& options) {
  CUBINET_TRY(check_problem(problem));
  CUBINET_TRY_ASSIGN(auto opened, runtime.device(device));
  CUBINET_TRY(check_not_capturing(*opened, options.stream));
  // Equally long sequences show how the work is divided. The append costs the same before every
  // kernel.
  AttentionProblem measured = problem;
  measured.append.reset();
  measured.kv_lengths.assign(problem.batch, static_cast<std::int32_t>(problem.kv_len));
  return Tuning(runtime, std::move(opened), std::move(measured), options).run(options.scratch);
}

}  // namespace cubinet
