// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cubinet::cli {

// While one lives, the first SIGINT or SIGTERM is remembered instead of ending the process, so that what is
// finished can be kept; the second one ends it. At most one at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const;
  // Ends the process by the signal that was remembered: a shell or a service manager that waits for the
  // process then knows that it was interrupted, which an exit status would hide.
  [[noreturn]] void end_process() const;
};

}  // namespace cubinet::cli
