// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"
#include "errors.hpp"
#include "log.hpp"
#include "text.hpp"
#include "without_gil.hpp"

#include <cubinet/cubinet.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace cubinet_python {

namespace nb = nanobind;

// Signals are checked at this interval.
inline constexpr std::chrono::milliseconds kInterval{50};

struct Progress {
  std::size_t done;
  std::size_t total;
  std::string kernel;
  std::string outcome;
  double seconds;
  std::uint64_t bytes;
};

// One run of cubinet_prebuild or cubinet_prepare in a thread of its own. The library calls back on
// threads that Python does not know, and holds a lock meanwhile, so that the callbacks only leave
// notes here. The calling thread passes them on.
template <class Options>
class BackgroundRun {
 public:
  using Call = std::function<cubinet_status(const Options*, cubinet_text**, cubinet_error**)>;

  BackgroundRun(Options options, const Call& call) : options_(options) {
    options_.progress = [](void* run, const cubinet_prebuild_progress* progress) {
      static_cast<BackgroundRun*>(run)->add(*progress);
    };
    options_.cancelled = [](void* run) -> std::int32_t {
      return static_cast<BackgroundRun*>(run)->cancelled_ || calls_have_ended() ? 1 : 0;
    };
    options_.user = this;
    thread_ = std::thread([this, call] {
      const LibraryUse use;
      status_ = call(&options_, &json_, &error_);
      const std::lock_guard lock(mutex_);
      is_done_ = true;
      changed_.notify_one();
    });
  }
  ~BackgroundRun() {
    const WithoutGil without_gil;
    cancelled_ = true;
    thread_.join();
    cubinet_text_release(json_);
    cubinet_error_release(error_);
  }
  BackgroundRun(const BackgroundRun&) = delete;
  BackgroundRun& operator=(const BackgroundRun&) = delete;

  // Waits for notes, without the GIL. Returns those that have come. Stores whether the run is done.
  std::deque<Progress> wait(bool& is_done) {
    const WithoutGil without_gil;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kInterval, [&] { return is_done_ || !notes_.empty(); });
    is_done = is_done_;
    return std::exchange(notes_, {});
  }

  void cancel() { cancelled_ = true; }

  // Returns the report as JSON, or raises the error of the run, which is done.
  std::string result() {
    if (status_ != CUBINET_OK) raise(std::exchange(error_, nullptr));
    return take_text(std::exchange(json_, nullptr));
  }

 private:
  void add(const cubinet_prebuild_progress& progress) {
    const std::lock_guard lock(mutex_);
    notes_.push_back({progress.done, progress.total, std::string(view_of(progress.kernel)),
                      std::string(view_of(progress.outcome)), progress.seconds, progress.bytes});
    changed_.notify_one();
  }

  Options options_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Progress> notes_;
  bool is_done_ = false;
  cubinet_status status_ = CUBINET_OK;
  cubinet_text* json_ = nullptr;
  cubinet_error* error_ = nullptr;
  std::thread thread_;
};

inline void pass_on(const std::deque<Progress>& notes, nb::handle progress) {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  deliver_log_lines();
  if (progress.is_none()) return;
  for (const Progress& note : notes)
    progress(note.done, note.total, note.kernel, note.outcome, note.seconds, note.bytes);
}

// Runs `call`, passes its progress on, and returns its report as JSON or raises its error.
template <class Options>
std::string run_with_progress(Options options, const typename BackgroundRun<Options>::Call& call,
                              nb::handle progress) {
  BackgroundRun<Options> run(options, call);
  // An exception of the callback, or of a signal handler, ends the run. It is raised when the
  // work that has begun is finished.
  std::exception_ptr raised;
  for (bool is_done = false; !is_done;) {
    const std::deque<Progress> notes = run.wait(is_done);
    if (raised) continue;
    try {
      pass_on(notes, progress);
    } catch (nb::python_error&) {
      raised = std::current_exception();
      run.cancel();
    }
  }
  deliver_log_lines();
  if (raised) std::rethrow_exception(raised);
  return run.result();
}

}  // namespace cubinet_python
