// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <signal.h>
#include <thread>

namespace cubinet::cli {

// A guard that records the first SIGINT or SIGTERM while it exists, instead of ending the process,
// so that finished work can be kept. The second signal ends the process at once. With First::ends
// the first one does. At most one guard may exist at a time.
//
// The signals are blocked, and a thread takes them. A handler would not work: during the first
// compilation of a process NVRTC replaces our handlers with its own, which call exit(). All
// threads, including those of NVRTC and the driver, must be started while the guard exists, so that
// they block the signals too. A child process would inherit the blocked signals; nothing here
// starts one.
class InterruptGuard {
 public:
  enum class First { remembered, ends };
  explicit InterruptGuard(First first = First::remembered);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const { return received_.load() != 0; }
  // Ends the process by the recorded signal. A shell or a service manager that waits for the
  // process then sees the interruption, which an exit status would hide.
  [[noreturn]] void end_process() const;

 private:
  void take_signals();

  const First first_;
  bool ignored_[2] = {};  // in the order of SIGINT, SIGTERM
  sigset_t signals_ = {};
  sigset_t mask_before_ = {};
  std::atomic<int> received_{0};
  std::atomic<bool> stopping_{false};
  std::thread taker_;
};

}  // namespace cubinet::cli
