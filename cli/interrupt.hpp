// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <signal.h>
#include <thread>

namespace cubinet::cli {

// While one lives, the first SIGINT or SIGTERM is remembered instead of ending the process, so that
// what is finished can be kept; the second one ends it at once. With First::ends the first one
// does. At most one at a time.
//
// The signals are blocked and taken by a thread, not by a handler: NVRTC puts handlers of its own
// in the place of ours, which call exit(), while a process compiles for the first time. Threads
// have to be started while the guard lives, those of NVRTC and the driver included, so that they
// block the signals too. A process started meanwhile would inherit that; nothing here starts one.
class InterruptGuard {
 public:
  enum class First { remembered, ends };
  explicit InterruptGuard(First first = First::remembered);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const { return received_.load() != 0; }
  // Ends the process by the signal that was remembered: a shell or a service manager that waits for
  // the process then knows that it was interrupted, which an exit status would hide.
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
