// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <ctime>

namespace cubinet {

// A scope in which writing to a closed connection is an error on this thread and raises no signal.
// The signal would end the process, because TLS libraries write without MSG_NOSIGNAL, and a library
// must not change the process's signal handling.
class BrokenPipeSignal {
 public:
  BrokenPipeSignal() {
    sigemptyset(&broken_pipe_);
    sigaddset(&broken_pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &broken_pipe_, &before_);
  }
  ~BrokenPipeSignal() {
    const timespec at_once{};
    // A signal that was pending before is left pending.
    while (!was_pending_ && sigtimedwait(&broken_pipe_, nullptr, &at_once) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BrokenPipeSignal(const BrokenPipeSignal&) = delete;
  BrokenPipeSignal& operator=(const BrokenPipeSignal&) = delete;

 private:
  sigset_t broken_pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace cubinet
