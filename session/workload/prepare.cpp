// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/parallel.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/missing_code.hpp>
#include <cubinet/session/prepare.hpp>

#include <fmt/format.h>

#include <algorithm>
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

// Loads the entries on several threads and collects their errors.
class PrepareRun {
 public:
  PrepareRun(const Session& session, std::shared_ptr<const Device> device,
             const std::vector<WorkloadEntry>& entries, const PrepareOptions& options)
      : session_(session), device_(std::move(device)), entries_(entries), options_(options) {}

  void run(unsigned jobs);
  void collect(PrepareResult& result) const;

 private:
  struct Outcome {
    bool ended = false;
    std::optional<Error> error;
  };

  Result<void> load(const KernelSpec& spec, const std::set<WorkloadDevice>& devices);
  Result<void> load(const WorkloadAttention& attention, const std::set<WorkloadDevice>& devices);
  void load_entry(std::size_t index);

  const Session& session_;
  std::shared_ptr<const Device> device_;
  const std::vector<WorkloadEntry>& entries_;
  const PrepareOptions& options_;
  std::vector<Outcome> outcomes_ = std::vector<Outcome>(entries_.size());
  std::mutex mutex_;  // guards done_ and the callbacks
  std::size_t done_ = 0;
};

void PrepareRun::run(unsigned jobs) {
  const auto tick = [this] {
    const PreparingThread thread;
    const std::lock_guard lock(mutex_);
    if (options_.progress) options_.progress({done_, entries_.size()});
  };
  const auto cancelled = [this] {
    const PreparingThread thread;
    const std::lock_guard lock(mutex_);
    return options_.cancelled && options_.cancelled();
  };
  tick();
  parallel_for(entries_.size(), jobs, [this](std::size_t index) { load_entry(index); }, {cancelled, tick});
}

Result<void> PrepareRun::load(const KernelSpec& spec, const std::set<WorkloadDevice>& devices) {
  const ComputeCapability capability = device_->properties().capability;
  const auto is_of_device = [&](const WorkloadDevice& device) { return device.capability == capability; };
  if (std::none_of(devices.begin(), devices.end(), is_of_device)) {
    return Error{ErrorCode::unsupported,
                 fmt::format("recorded on {}, and {} is {}", devices.begin()->capability.to_string(),
                             device_->properties().to_string(), capability.to_string()),
                 "record the workload on such a device, too, and merge the two"};
  }
  auto kernel = session_.runtime().resolve(spec);
  if (!kernel) return missing_code(spec, std::move(kernel).error());
  auto function = session_.runtime().function(**kernel, device_->ordinal());
  if (!function && session_.runtime().frozen()) return std::move(function).error();
  if (!function) return missing_code(spec, std::move(function).error());
  return {};
}

Result<void> PrepareRun::load(const WorkloadAttention& attention, const std::set<WorkloadDevice>&) {
  CUBINET_TRY(session_.attention(attention.problem, device_, attention.options));
  return {};
}

void PrepareRun::load_entry(std::size_t index) {
  const PreparingThread thread;
  const WorkloadEntry& entry = entries_[index];
  const auto loaded = std::visit([&](const auto& work) { return load(work, entry.devices); }, entry.work);
  Outcome& outcome = outcomes_[index];
  outcome.ended = true;
  if (!loaded) outcome.error = loaded.error();
  const std::lock_guard lock(mutex_);
  ++done_;
  if (!options_.progress) return;
  options_.progress({done_, entries_.size(), entry.to_string(),
                     loaded ? std::string("loaded") : "failed: " + loaded.error().message});
}

void PrepareRun::collect(PrepareResult& result) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Outcome& outcome = outcomes_[i];
    if (!outcome.ended) result.interrupted = true;
    if (outcome.error) result.failed.push_back({entries_[i].to_string(), *outcome.error});
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
