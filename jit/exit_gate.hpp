// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/dynamic_library.hpp>

#include <atomic>
#include <chrono>
#include <utility>

namespace cubinet {

// A gate in front of a library with static objects, which are destroyed when the process exits,
// also while threads are inside. The exit closes the gate: nobody enters any more, and the exit
// waits for the threads inside for a bounded time. Must have static storage duration; thread-safe.
class ExitGate {
 public:
  // A scope during which its thread counts as inside. Must end on its thread.
  class [[nodiscard]] Stay {
   public:
    Stay(Stay&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Stay& operator=(Stay&&) = delete;
    ~Stay();
    // Returns false if the process exits. The thread then does not count as inside.
    explicit operator bool() const { return gate_ != nullptr; }

   private:
    friend class ExitGate;
    explicit Stay(ExitGate* gate) : gate_(gate) {}
    ExitGate* gate_;
  };

  constexpr ExitGate() = default;
  Stay enter();
  // Closes the gate and waits until the other threads have left, at most for `limit`. Returns
  // whether they have.
  bool close(std::chrono::milliseconds limit);
  // Forgets the threads inside. For a forked child, which does not have them.
  void forget_threads() { inside_ = 0; }

 private:
  std::atomic<bool> closed_{false};
  std::atomic<int> inside_{0};
};

// The gate of NVRTC and nvJitLink.
ExitGate& compiler_gate();

// Makes the exit of the process close compiler_gate() before it destroys the library's static
// objects: those that exist now, and those that the library's functions register later, which they
// also do in the middle of a compilation. Called when a library was loaded.
void close_gate_before_destructors_of(const DynamicLibrary& library);

// An import for copies of NVRTC, which makes that their static objects are never destroyed. The
// exit of the process would also destroy those of a copy that another thread is still loading.
LibraryImport without_destructors();

// Makes the exit close compiler_gate() before it runs the handlers and destructors that were
// registered until now.
void close_gate_at_exit();

}  // namespace cubinet
