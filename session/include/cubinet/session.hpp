// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/shared_prefix.hpp>
#include <cubinet/attention/workspace.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session/session_options.hpp>
#include <cubinet/session/workload.hpp>

#include <memory>

namespace cubinet {

class PlannerCache;      // session/planner_cache.hpp
class WorkloadRecorder;  // session/workload_recorder.hpp

// A configured cubinet with open stores, loaded templates and a Runtime. Front ends (the tool,
// bindings) and most programs begin here; programs with stores of their own use Runtime::create.
// Thread-safe. Functions and bound attention that it returned stay valid after it is destroyed. The
// rules of Runtime about fork apply here too.
class Session {
 public:
  // Opens the home, the bundles, the servers and the caches, and reads the template files. Servers,
  // the driver and NVRTC are contacted or opened only when they are needed. Returns the errors of
  // Home::open, Bundle::open, open_server, open_cache and find_trust_policy, and invalid_argument
  // for options that contradict each other.
  static Result<std::shared_ptr<Session>> open(SessionOptions options);
  // Appends the counters of the recording to its file, if SessionOptions::record_folder names one.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const SessionOptions& options() const { return options_; }
  Runtime& runtime() const { return *runtime_; }
  // The home that builds are kept in; nullptr if there is none.
  const std::shared_ptr<Home>& home() const { return home_; }

  // Returns a device by its number. Returns unavailable if there is no driver or no such device.
  Result<std::shared_ptr<const Device>> device(int ordinal) const;

  // Plans the problem for the device, finds or compiles every kernel of the plan, and loads it. May
  // block for seconds while a kernel is compiled. If the plan cannot be bound because another
  // process has changed the stores, it is planned and bound once more. If PlanOptions::may_load is
  // false, or the Runtime is frozen, and a kernel of the best plan is not loaded, the plan is the
  // best one whose kernels are all loaded. While frozen, a problem without a plan counts as
  // refused. Returns unsupported if no backend runs the problem; otherwise the errors of
  // BoundAttention::bind.
  Result<BoundAttention> attention(const AttentionProblem& problem,
                                   const std::shared_ptr<const Device>& device,
                                   PlanOptions options = {}) const;
  // Does the same over shared prefixes. Its two attentions are bound, and recorded, as two
  // problems. The kernel of the merge is recorded alone.
  Result<SharedPrefixAttention> attention(const SharedPrefixProblem& problem,
                                          const std::shared_ptr<const Device>& device,
                                          PlanOptions options = {}) const;
  // Returns the plan that attention() would bind on such a device, or every backend's reason for
  // declining. Compiles and loads nothing and needs no driver. Uses measurements if `device_name`
  // is DeviceProperties::name. Reads the stores' rows at the first call for a device, and again
  // after the stores have changed in this process.
  Result<AttentionResolution> plan(const AttentionProblem& problem, const DeviceFacts& device,
                                   PlanOptions options = {}, std::string_view device_name = {}) const;

  // Does the same over shared prefixes. Returns an error (unsupported), with every backend's
  // reason, if they decline one of the two attentions.
  Result<SharedPrefixPlan> plan(const SharedPrefixProblem& problem, const DeviceFacts& device,
                                PlanOptions options = {}, std::string_view device_name = {}) const;

  // Begins to note each kernel at its first load and each problem that attention() binds, or
  // continues after stop_recording(). What is loaded already is not noted. A hit in the process
  // cache costs nothing more. The kernels of a plan are not noted beside its problem, unless
  // BoundAttention::bind is called directly. Returns io if the system gives no random number for
  // the recording's identifier.
  Result<void> start_recording() const;
  void stop_recording() const;
  bool recording() const;
  // Returns what was noted, and the counters of the recording. At most kMaximumWorkloadLines are
  // kept; a warning is logged when the recording is full.
  Workload recorded() const;

 private:
  friend class WorkloadRecorder;  // WorkloadRecorder::of
  Session(SessionOptions options, std::shared_ptr<Home> home, std::shared_ptr<Runtime> runtime,
          std::shared_ptr<WorkloadRecorder> recorder);
  Result<BoundAttention> bind_attention(const AttentionProblem& problem,
                                        const std::shared_ptr<const Device>& device,
                                        PlanOptions options) const;

  SessionOptions options_;
  std::shared_ptr<Home> home_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<PlannerCache> planners_;
  std::shared_ptr<WorkloadRecorder> recorder_;
};

}  // namespace cubinet
