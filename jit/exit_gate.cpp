// SPDX-License-Identifier: Apache-2.0
#include "exit_gate.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <pthread.h>
#include <thread>

namespace cubinet {
namespace {

// Longer than a compilation of the library's templates takes on a busy machine.
constexpr std::chrono::seconds kWaitAtExit(30);
constexpr std::chrono::milliseconds kPoll(1);

ExitGate the_compilers;

// The scopes of this thread, for whose end its own exit() must not wait.
thread_local int own_stays = 0;

}  // namespace

// Both sides write before they read, in one total order, so an entry and a close see each other.
ExitGate::Stay ExitGate::enter() {
  ++inside_;
  ++own_stays;
  Stay stay(this);
  return closed_ ? Stay(nullptr) : std::move(stay);
}

ExitGate::Stay::~Stay() {
  if (gate_ == nullptr) return;
  --own_stays;
  --gate_->inside_;
}

bool ExitGate::close(std::chrono::milliseconds limit) {
  closed_ = true;
  const auto end = std::chrono::steady_clock::now() + limit;
  while (inside_ > own_stays) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

ExitGate& compiler_gate() {
  return the_compilers;
}

void close_gate_at_exit() {
  [[maybe_unused]] static const int forks =
      ::pthread_atfork(nullptr, nullptr, [] { the_compilers.forget_threads(); });
  // If the registration fails (no memory), the exit does not wait.
  static_cast<void>(std::atexit([] { the_compilers.close(kWaitAtExit); }));
}

namespace {

// The exit calls what was registered last first, so the gate is registered again.
int register_destructor(void (*destructor)(void*), void* object, void* library) {
  const int result = abi::__cxa_atexit(destructor, object, library);
  close_gate_at_exit();
  return result;
}

int register_nothing(void (*)(void*), void*, void*) {
  return 0;
}

}  // namespace

LibraryImport without_destructors() {
  return {"__cxa_atexit", reinterpret_cast<void*>(&register_nothing)};
}

void close_gate_before_destructors_of(const DynamicLibrary& library) {
  close_gate_at_exit();
  library.redirect("__cxa_atexit", reinterpret_cast<void*>(&register_destructor));
}

}  // namespace cubinet
