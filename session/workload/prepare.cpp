// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/parallel.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/caller_label.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/missing_code.hpp>
#include <cubinet/session/prepare.hpp>
#include <cubinet/session/workload_recorder.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

namespace cubinet {
namespace {

thread_local bool inside_prepare = false;

// Marks the calling thread as a thread of prepare(), so that a call from a callback is refused
// instead of waiting for itself.
class PreparingThread {
 public:
  PreparingThread() = default;
  ~PreparingThread() { inside_prepare = before_; }
  PreparingThread(const PreparingThread&) = delete;
  PreparingThread& operator=(const PreparingThread&) = delete;

 private:
  bool before_ = std::exchange(inside_prepare, true);
};

// A kernel of one or more entries.
struct NeededKernel {
  KernelSpec spec;
  std::vector<std::size_t> entries = {};  // by their index, ascending
  bool is_entry = false;                  // if false, only plans need it
};

// The entries that are planned before their kernels are loaded. Bounds the memory of the plans.
constexpr std::size_t kPlannedAtOnce = 1024;

// Loads the kernels of all entries on several threads and collects the entries' errors. The entries
// are planned first, so that each kernel is loaded once and no thread waits for another one's
// build. An entry ends with its last kernel.
class PrepareRun {
 public:
  PrepareRun(const Session& session, std::shared_ptr<const Device> device,
             const std::vector<WorkloadEntry>& entries, const PrepareOptions& options)
      : session_(session), device_(std::move(device)), entries_(entries), options_(options) {}

  void run(unsigned jobs);
  void collect(PrepareResult& result) const;

 private:
  struct Outcome {
    std::optional<AttentionPlan> plan = {};  // of attention, until the entry ends
    std::atomic<std::size_t> missing_kernels{0};
    std::atomic<bool> failed{false};  // the first thread that sets it writes `error`
    bool ended = false;
    std::optional<Error> error = {};
  };

  // Return the kernels of an entry. For attention, the second one also sets the entry's plan.
  Result<std::vector<KernelSpec>> kernels_of(const KernelSpec& spec, std::size_t index) const;
  Result<std::vector<KernelSpec>> kernels_of(const WorkloadAttention& attention, std::size_t index);
  void find_kernels(std::size_t begin, std::size_t end, unsigned jobs, const ParallelHooks& hooks);
  void find_kernel_entries();
  Result<void> load(const NeededKernel& kernel);
  void load_kernel(const NeededKernel& kernel);
  void fail(std::size_t index, Error error);
  void bind(const WorkloadAttention& attention, Outcome& outcome);
  void end_entry(std::size_t index);
  bool cancelled();

  const Session& session_;
  std::shared_ptr<const Device> device_;
  const std::vector<WorkloadEntry>& entries_;
  const PrepareOptions& options_;
  const std::string caller_{CallerLabel::current()};  // of the thread that prepares
  std::set<Bytes> kernel_entries_;     // encodings of the identities of the entries that are kernels
  std::vector<NeededKernel> kernels_;  // of the planned entries, in the order of their first use
  std::vector<Outcome> outcomes_ = std::vector<Outcome>(entries_.size());
  std::mutex mutex_;  // guards done_ and the callbacks
  std::size_t done_ = 0;
  std::atomic<bool> cancelled_{false};
  bool has_planned_ = false;  // whether an entry of attention was planned
};

void PrepareRun::run(unsigned jobs) {
  const auto tick = [this] {
    const PreparingThread thread;
    const std::lock_guard lock(mutex_);
    if (options_.progress) options_.progress({done_, entries_.size()});
  };
  const ParallelHooks hooks{[this] { return cancelled(); }, tick};
  tick();
  find_kernel_entries();
  for (std::size_t begin = 0; begin < entries_.size() && !cancelled_; begin += kPlannedAtOnce) {
    find_kernels(begin, std::min(begin + kPlannedAtOnce, entries_.size()), jobs, hooks);
    if (cancelled_) return;
    parallel_for(
        kernels_.size(), jobs, [this](std::size_t i) { load_kernel(kernels_[i]); }, hooks);
  }
}

// Asks the caller until it has cancelled once. REQUIRES: mutex_ is not held.
bool PrepareRun::cancelled() {
  if (cancelled_ || !options_.cancelled) return cancelled_;
  const PreparingThread thread;
  const std::lock_guard lock(mutex_);
  if (!cancelled_ && options_.cancelled()) cancelled_ = true;
  return cancelled_;
}

// Returns whether a device of this capability has used the entry.
bool is_of(const WorkloadEntry& entry, ComputeCapability capability) {
  return std::any_of(entry.devices.begin(), entry.devices.end(),
                     [&](const WorkloadDevice& device) { return device.capability == capability; });
}

// A plan of an earlier block may load a kernel that is an entry, so all blocks are searched first.
void PrepareRun::find_kernel_entries() {
  if (!WorkloadRecorder::of(session_).active()) return;
  for (const WorkloadEntry& entry : entries_) {
    const auto* spec = std::get_if<KernelSpec>(&entry.work);
    if (spec != nullptr && is_of(entry, device_->properties().capability))
      kernel_entries_.insert(identify(*spec).encoding());
  }
}

Result<std::vector<KernelSpec>> PrepareRun::kernels_of(const KernelSpec& spec, std::size_t index) const {
  const std::set<WorkloadDevice>& devices = entries_[index].devices;
  const ComputeCapability capability = device_->properties().capability;
  if (is_of(entries_[index], capability)) return std::vector<KernelSpec>{spec};
  return Error{ErrorCode::unsupported,
               fmt::format("recorded on {}, and {} is {}", devices.begin()->capability.to_string(),
                           device_->properties().to_string(), capability.to_string()),
               "record the workload on such a device, too, and merge the two"};
}

Result<std::vector<KernelSpec>> PrepareRun::kernels_of(const WorkloadAttention& attention,
                                                       std::size_t index) {
  const DeviceProperties& device = device_->properties();
  CUBINET_TRY_ASSIGN(AttentionResolution resolved, session_.plan(attention.problem, DeviceFacts::of(device),
                                                                 attention.options, device.name));
  if (!resolved.plan) return resolved.error();
  std::vector<KernelSpec> kernels;
  for (const PlanStep& step : resolved.plan->steps)
    if (const auto* spec = std::get_if<KernelSpec>(&step.kernel)) kernels.push_back(*spec);
  outcomes_[index].plan = std::move(resolved.plan);
  return kernels;
}

// Fills kernels_. Ends the entries that have none or cannot be planned.
void PrepareRun::find_kernels(std::size_t begin, std::size_t end, unsigned jobs, const ParallelHooks& hooks) {
  std::vector<std::optional<std::vector<KernelSpec>>> needed(end - begin);  // nullopt: cancelled before
  const auto find = [&](std::size_t i) {
    const PreparingThread thread;
    auto kernels =
        std::visit([&](const auto& work) { return kernels_of(work, begin + i); }, entries_[begin + i].work);
    if (!kernels) fail(begin + i, kernels.error());
    needed[i] = kernels ? *std::move(kernels) : std::vector<KernelSpec>();
  };
  // The first plan reads the rows of the stores. If all threads began together, each would read
  // them.
  std::size_t planned = 0;
  while (planned < needed.size() && !has_planned_ && !cancelled()) {
    has_planned_ = std::holds_alternative<WorkloadAttention>(entries_[begin + planned].work);
    find(planned++);
  }
  parallel_for(
      needed.size() - planned, jobs, [&](std::size_t i) { find(planned + i); }, hooks);
  kernels_.clear();
  std::map<Bytes, std::size_t> known;  // by the encoding of the kernel's identity
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    const std::size_t index = begin + i;
    for (KernelSpec& spec : *needed[i]) {
      const auto [place, is_new] = known.emplace(identify(spec).encoding(), kernels_.size());
      if (is_new) {
        kernels_.push_back({std::move(spec)});
        kernels_.back().is_entry = kernel_entries_.count(place->first) != 0;
      }
      NeededKernel& kernel = kernels_[place->second];
      if (!kernel.entries.empty() && kernel.entries.back() == index) continue;
      kernel.entries.push_back(index);
      ++outcomes_[index].missing_kernels;
    }
    if (needed[i]->empty()) end_entry(index);
  }
}

Result<void> PrepareRun::load(const NeededKernel& kernel) {
  // A recording notes the problem instead of the kernels that only its plan needs.
  std::optional<WorkloadRecorder::Binding> binding;
  if (!kernel.is_entry) binding.emplace();
  auto resolved = session_.runtime().resolve(kernel.spec);
  if (!resolved) return missing_code(kernel.spec, std::move(resolved).error());
  auto function = session_.runtime().function(**resolved, device_->ordinal());
  if (!function && session_.runtime().frozen()) return std::move(function).error();
  if (!function) return missing_code(kernel.spec, std::move(function).error());
  return {};
}

void PrepareRun::load_kernel(const NeededKernel& kernel) {
  const PreparingThread thread;
  const CallerLabel label(caller_);
  const auto loaded = load(kernel);
  for (const std::size_t index : kernel.entries) {
    if (!loaded) fail(index, loaded.error());
    if (--outcomes_[index].missing_kernels == 0) end_entry(index);
  }
}

void PrepareRun::fail(std::size_t index, Error error) {
  if (!outcomes_[index].failed.exchange(true)) outcomes_[index].error = std::move(error);
}

// Sets or clears the error of an entry whose kernels are loaded, or one of them failed.
void PrepareRun::bind(const WorkloadAttention& attention, Outcome& outcome) {
  // The bound attention may need other kernels than the plan, if fewer blocks fit on an SM.
  const WorkloadRecorder::Binding binding;
  if (!outcome.error) {
    auto bound = BoundAttention::bind(session_.runtime(), *outcome.plan, device_->ordinal());
    if (bound) WorkloadRecorder::of(session_).note(attention, device_->properties());
    if (!bound) outcome.error = std::move(bound).error();
  }
  if (!outcome.error || outcome.error->code != ErrorCode::not_found) return;
  // Another process has removed a build since the plan, or the Runtime is frozen and another loaded
  // kernel serves the problem.
  auto bound = session_.attention(attention.problem, device_, attention.options);
  outcome.error.reset();
  if (!bound) outcome.error = std::move(bound).error();
}

// Binds and reports the entry. A problem that is not bound after a cancellation does not end.
void PrepareRun::end_entry(std::size_t index) {
  const PreparingThread thread;
  const WorkloadEntry& entry = entries_[index];
  Outcome& outcome = outcomes_[index];
  if (outcome.plan) {
    if (cancelled()) return;
    bind(std::get<WorkloadAttention>(entry.work), outcome);
  }
  outcome.plan.reset();
  const std::lock_guard lock(mutex_);
  outcome.ended = true;
  ++done_;
  if (!options_.progress) return;
  options_.progress({done_, entries_.size(), entry.to_string(),
                     outcome.error ? "failed: " + outcome.error->message : std::string("loaded")});
}

void PrepareRun::collect(PrepareResult& result) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Outcome& outcome = outcomes_[i];
    if (!outcome.ended) result.interrupted = true;
    if (outcome.ended && outcome.error) result.failed.push_back({entries_[i].to_string(), *outcome.error});
    if (outcome.ended && !outcome.error) ++result.loaded;
  }
}

std::optional<Error> prepare_error(const PrepareResult& result, std::size_t total) {
  if (result.interrupted)
    return Error{ErrorCode::unavailable,
                 fmt::format("interrupted: {} of {} are loaded", result.loaded, plural(total, "entry")),
                 "prepare the workload again to continue"};
  if (!result.failed.empty()) {
    Error error = result.failed.front().error;
    error.message = result.failed.front().entry + ": " + error.message;
    return error;
  }
  if (!result.rejected.empty()) return result.rejected.front();
  return std::nullopt;
}

}  // namespace

Result<PrepareResult> prepare(const Session& session, const Workload& workload,
                              const PrepareOptions& options) {
  if (inside_prepare)
    return Error{ErrorCode::busy, "a callback of a running preparation cannot prepare a workload",
                 "call it after the running one has returned, or on another thread"};
  CUBINET_TRY_ASSIGN(const auto device, session.device(options.device));
  const Stopwatch watch;
  const std::uint64_t compiled = session.runtime().counters().compiled;
  const std::vector<WorkloadEntry> entries = workload.entries();
  PrepareResult result;
  result.rejected = workload.rejected();
  PrepareRun run(session, device, entries, options);
  run.run(jobs_within(options.jobs == 0 ? default_jobs() : options.jobs, options.memory));
  run.collect(result);
  result.compiled = session.runtime().counters().compiled - compiled;
  result.seconds = watch.seconds();
  result.error = prepare_error(result, entries.size());
  return result;
}

std::string to_json(const PrepareResult& result) {
  nlohmann::json failed = nlohmann::json::array();
  for (const auto& [entry, error] : result.failed)
    failed.push_back({{"entry", entry}, {"error", error_document(error)["error"]}});
  nlohmann::json rejected = nlohmann::json::array();
  for (const Error& error : result.rejected)
    rejected.push_back(error_document(error)["error"]);
  nlohmann::json document = {{"loaded", result.loaded},           {"compiled", result.compiled},
                             {"failed", std::move(failed)},       {"rejected", std::move(rejected)},
                             {"interrupted", result.interrupted}, {"seconds", result.seconds}};
  if (result.error) document.update(error_document(*result.error));
  return json_text(document);
}

}  // namespace cubinet
