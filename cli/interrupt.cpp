// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <cstdlib>
#include <system_error>

namespace cubinet::cli {
namespace {

// Returns whether the process ignores the signal. A background job of a shell ignores SIGINT and
// must continue to do so.
bool ignored(int signal) {
  struct sigaction current = {};
  return ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

// Ends the process by the signal, even if a library has installed a handler.
[[noreturn]] void end_by(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  std::_Exit(128 + signal);  // the status that a shell reports for the signal
}

}  // namespace

InterruptGuard::InterruptGuard(First first) : first_(first), ignored_{ignored(SIGINT), ignored(SIGTERM)} {
  ::sigemptyset(&signals_);
  ::sigaddset(&signals_, SIGINT);
  ::sigaddset(&signals_, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
  try {
    taker_ = std::thread([this] { take_signals(); });
  } catch (const std::system_error&) {
    // No thread could be started. Signals then act as they would without a guard.
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  if (!taker_.joinable()) return;
  stopping_ = true;
  // The signal goes to this thread only, where it is blocked, so that it just wakes sigwait().
  ::pthread_kill(taker_.native_handle(), SIGINT);
  taker_.join();
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void InterruptGuard::take_signals() {
  while (true) {
    int signal = 0;
    if (::sigwait(&signals_, &signal) != 0) continue;
    if (stopping_) return;
    if (ignored_[signal == SIGINT ? 0 : 1]) continue;
    if (received_.exchange(signal) != 0 || first_ == First::ends) end_by(signal);
  }
}

void InterruptGuard::end_process() const {
  end_by(received_.load());
}

}  // namespace cubinet::cli
