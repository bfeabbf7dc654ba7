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

// A kernel of one or more entries. The thread that planned the first of them loads it.
struct NeededKernel {
  KernelSpec spec;
  bool is_entry = false;                  // if false, only plans need it
  std::vector<std::size_t> waiting = {};  // the entries that end with this kernel at the earliest
  bool ended = false;
  std::optional<Error> error = {};  // of the load, once it has ended
};

// The entries after which all kernels must be loaded. Bounds the memory of the plans that wait.
constexpr std::size_t kPlannedAtOnce = 1024;

// Plans and loads all entries on several threads and collects the entries' errors. Each kernel is
// loaded once, and no thread waits for another one's build: an entry ends on the thread that loads
// the last of its kernels.
//
// The driver loads one kernel at a time. If nothing can be compiled, the other threads plan
// meanwhile. Otherwise the entries are planned first, because a plan may take a kernel that exists
// in place of a better one, and would depend on the builds that end before it.
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
  Result<AttentionResolution> plan(const WorkloadAttention& attention);
  bool loads_keep_plans() const;
  std::vector<KernelSpec> find_kernels(std::size_t index);
  void plan_and_load(std::size_t begin, std::size_t end, unsigned jobs, const ParallelHooks& hooks);
  void plan_then_load(std::size_t begin, std::size_t end, unsigned jobs, const ParallelHooks& hooks);
  std::vector<NeededKernel*> claim(std::size_t index, std::vector<KernelSpec> specs);
  void find_kernel_entries();
  Result<void> load(const NeededKernel& kernel);
  void load_kernel(NeededKernel& kernel);
  void fail(std::size_t index, Error error);
  void bind(const WorkloadAttention& attention, Outcome& outcome);
  void end_entry(std::size_t index);
  bool cancelled();

  const Session& session_;
  std::shared_ptr<const Device> device_;
  const std::vector<WorkloadEntry>& entries_;
  const PrepareOptions& options_;
  const std::string caller_{CallerLabel::current()};  // of the thread that prepares
  std::set<Bytes> kernel_entries_;  // encodings of the identities of the entries that are kernels
  std::mutex kernels_mutex_;
  // By the encoding of the identity. Guarded by kernels_mutex_, except for the specifications,
  // which do not change.
  std::map<Bytes, NeededKernel> kernels_;
  std::vector<Outcome> outcomes_ = std::vector<Outcome>(entries_.size());
  std::mutex mutex_;  // guards done_ and the callbacks
  std::size_t done_ = 0;
  std::atomic<bool> cancelled_{false};
  std::mutex first_plan_mutex_;
  std::atomic<bool> has_planned_{false};  // whether an entry of attention was planned
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
  const bool overlaps = loads_keep_plans();
  for (std::size_t begin = 0; begin < entries_.size() && !cancelled_; begin += kPlannedAtOnce) {
    const std::size_t end = std::min(begin + kPlannedAtOnce, entries_.size());
    if (overlaps) plan_and_load(begin, end, jobs, hooks);
    if (!overlaps) plan_then_load(begin, end, jobs, hooks);
    kernels_.clear();
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
  CUBINET_TRY_ASSIGN(AttentionResolution resolved, plan(attention));
  if (!resolved.plan) return resolved.error();
  std::vector<KernelSpec> kernels;
  for (const PlanStep& step : resolved.plan->steps)
    if (const auto* spec = std::get_if<KernelSpec>(&step.kernel)) kernels.push_back(*spec);
  outcomes_[index].plan = std::move(resolved.plan);
  return kernels;
}

// The first plan reads the rows of the stores. If all threads began together, each would read them.
Result<AttentionResolution> PrepareRun::plan(const WorkloadAttention& attention) {
  std::unique_lock<std::mutex> first;
  if (!has_planned_) first = std::unique_lock(first_plan_mutex_);
  if (has_planned_ && first) first.unlock();
  const DeviceProperties& device = device_->properties();
  auto resolved = session_.plan(attention.problem, DeviceFacts::of(device), attention.options, device.name);
  has_planned_ = true;
  return resolved;
}

// A build that is compiled or fetched changes the stores.
bool PrepareRun::loads_keep_plans() const {
  const bool plans = std::any_of(entries_.begin(), entries_.end(), [](const WorkloadEntry& entry) {
    return std::holds_alternative<WorkloadAttention>(entry.work);
  });
  return plans && session_.runtime().caches().empty() && !session_.runtime().can_compile();
}

// Returns no kernel if the entry has failed.
std::vector<KernelSpec> PrepareRun::find_kernels(std::size_t index) {
  const PreparingThread thread;
  auto specs = std::visit([&](const auto& work) { return kernels_of(work, index); }, entries_[index].work);
  if (specs) return *std::move(specs);
  fail(index, std::move(specs).error());
  return {};
}

void PrepareRun::plan_and_load(std::size_t begin, std::size_t end, unsigned jobs,
                               const ParallelHooks& hooks) {
  const auto prepare_entry = [&](std::size_t i) {
    for (NeededKernel* kernel : claim(begin + i, find_kernels(begin + i))) {
      if (cancelled()) return;
      load_kernel(*kernel);
    }
  };
  parallel_for(end - begin, jobs, prepare_entry, hooks);
}

void PrepareRun::plan_then_load(std::size_t begin, std::size_t end, unsigned jobs,
                                const ParallelHooks& hooks) {
  std::vector<std::vector<KernelSpec>> specs(end - begin);
  parallel_for(
      specs.size(), jobs, [&](std::size_t i) { specs[i] = find_kernels(begin + i); }, hooks);
  if (cancelled_) return;
  std::vector<NeededKernel*> kernels;  // in the order of their first use
  for (std::size_t i = 0; i < specs.size(); ++i)
    for (NeededKernel* kernel : claim(begin + i, std::move(specs[i])))
      kernels.push_back(kernel);
  parallel_for(
      kernels.size(), jobs, [&](std::size_t i) { load_kernel(*kernels[i]); }, hooks);
}

// Lets the entry wait for its kernels, or ends it if they have ended. Returns those of its kernels
// that no entry had before: the caller loads them.
std::vector<NeededKernel*> PrepareRun::claim(std::size_t index, std::vector<KernelSpec> specs) {
  std::vector<NeededKernel*> claimed;
  bool waits = false;
  {
    const std::lock_guard lock(kernels_mutex_);
    for (KernelSpec& spec : specs) {
      const auto [place, is_new] = kernels_.try_emplace(identify(spec).encoding());
      NeededKernel& kernel = place->second;
      if (is_new) {
        kernel.spec = std::move(spec);
        kernel.is_entry = kernel_entries_.count(place->first) != 0;
        claimed.push_back(&kernel);
      }
      if (kernel.error) fail(index, *kernel.error);
      const bool waits_already = !kernel.waiting.empty() && kernel.waiting.back() == index;
      if (kernel.ended || waits_already) continue;
      kernel.waiting.push_back(index);
      ++outcomes_[index].missing_kernels;
      waits = true;
    }
  }
  if (!waits) end_entry(index);
  return claimed;
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

void PrepareRun::load_kernel(NeededKernel& kernel) {
  const PreparingThread thread;
  const CallerLabel label(caller_);
  const auto loaded = load(kernel);
  std::vector<std::size_t> waiting;
  {
    const std::lock_guard lock(kernels_mutex_);
    kernel.ended = true;
    if (!loaded) kernel.error = loaded.error();
    waiting.swap(kernel.waiting);
  }
  for (const std::size_t index : waiting) {
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
  const CallerLabel label(caller_);
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
