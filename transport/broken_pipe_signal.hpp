// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <ctime>

namespace cubinet {

// While it lives, writing to a connection that the other side has closed is an error on this thread and no
// signal, which would end the process: TLS libraries write without MSG_NOSIGNAL, and a library may not change
// what the process does about signals.
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
    // One that was there before is not ours to take.
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
