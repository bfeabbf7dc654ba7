// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/fork_guard.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session.hpp>
#include <cubinet/session/workload.hpp>

#include <atomic>
#include <mutex>
#include <string>

namespace cubinet {

// The recording of one Session. Off until start(). Thread-safe. A hit in the process cache never
// reaches it.
class WorkloadRecorder {
 public:
  // Keeps at most `most_lines` of the workload. If `folder` is not empty, each entry is also
  // appended to a file in it, which has the recording's identifier as its name.
  explicit WorkloadRecorder(LogSink log, std::string folder = {},
                            std::size_t most_lines = kMaximumWorkloadLines)
      : log_(std::move(log)), folder_(std::move(folder)), most_lines_(most_lines) {}

  // Returns the recording of a session, for functions that load on behalf of its caller.
  static WorkloadRecorder& of(const Session& session) { return *session.recorder_; }

  // Reads the Runtime's counters. Called under the recorder's lock, so that what is recorded never
  // goes back.
  using ReadCounters = Callback<Runtime::Counters()>;

  // Begins or continues the recording.
  Result<void> start(const ReadCounters& read);
  void stop(const ReadCounters& read);
  bool active() const { return active_.load(std::memory_order_relaxed); }

  // Notes the kernel of a request that loaded it, unless the calling thread is inside a Binding.
  void note(const KernelEvent& event);
  void note(const WorkloadAttention& attention, const DeviceProperties& device);
  Workload recorded(const ReadCounters& read) const;
  // Appends the counters of the recording to its file. Does nothing without a file, and in a forked
  // child, where the lock may be held for ever and the file is the parent's.
  void append_counters(const ReadCounters& read);

  // Marks the calling thread as binding attention. The kernels of a plan belong to the device, so
  // the problem is noted instead of them.
  class Binding {
   public:
    Binding();
    ~Binding();
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;
  };

 private:
  void add(WorkloadEntry entry);
  // Appends a line to the file. Returns the error of the first failure; later lines are left out.
  Result<void> append(const std::string& line);
  void warn_unless(const Result<void>& appended) const;
  // REQUIRES: mutex_ is held.
  WorkloadRecording counters(const ReadCounters& read) const;

  ForkGuard fork_guard_;
  LogSink log_;
  const std::string folder_;
  std::size_t most_lines_;
  std::atomic<bool> active_{false};
  mutable std::mutex mutex_;
  std::string id_;  // empty before the first start(); this and the rest are guarded by mutex_
  Workload workload_;
  std::uint64_t next_ = 0;  // the position of the next entry in the order of first use
  bool full_logged_ = false;
  bool is_file_usable_ = true;
  WorkloadRecording stopped_;  // the sum of the periods that have ended
  WorkloadRecording started_;  // the counters at start()
};

}  // namespace cubinet
