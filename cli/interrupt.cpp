// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <atomic>
#include <cstdlib>
#include <signal.h>

namespace cubinet::cli {
namespace {

// A signal handler has no other way to say anything. Written by the handler and the guard alone.
std::atomic<int> received_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "the handler must not lock");

extern "C" void remember_signal(int signal) {
  received_signal.store(signal, std::memory_order_relaxed);
}

constexpr int kSignals[] = {SIGINT, SIGTERM};

// A background job of a shell ignores SIGINT, and is to go on doing so.
bool ignored(int signal) {
  struct sigaction current = {};
  return ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  received_signal = 0;
  struct sigaction action = {};
  action.sa_handler = remember_signal;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  ::sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) {
    if (!ignored(signal)) ::sigaction(signal, &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (const int signal : kSignals) {
    if (!ignored(signal)) ::signal(signal, SIG_DFL);
  }
}

bool InterruptGuard::requested() const {
  return received_signal.load(std::memory_order_relaxed) != 0;
}

void InterruptGuard::end_process() const {
  const int signal = received_signal.load();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  std::_Exit(128 + signal);  // the signal is blocked: say it as a shell would
}

}  // namespace cubinet::cli
