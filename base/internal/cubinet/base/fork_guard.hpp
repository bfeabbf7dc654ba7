// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cubinet {

// A guard that distinguishes the process that made it from children forked later. The mark is
// stored in a page that the kernel clears in children (MADV_WIPEONFORK, Linux 4.14), so a query
// costs one load and no getpid. If the kernel refuses, as gVisor does, the mark is a count of forks
// kept by a handler of the C library. A child made by a bare clone() then counts as the original.
class ForkGuard {
 public:
  enum class Mechanism { wiped_page, fork_handler };

  ForkGuard() : ForkGuard(Mechanism::wiped_page) {}
  // Tries this mechanism first. The fork handler is the fallback if the page is refused.
  explicit ForkGuard(Mechanism mechanism);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  bool in_original_process() const { return mark_->load(std::memory_order_relaxed) == expected_; }

 private:
  const std::atomic<int>* mark_ = nullptr;
  int expected_ = 0;
  void* page_ = nullptr;
  std::size_t page_bytes_ = 0;
};

// A counter of the threads that are inside third-party code with locks of its own, such as a
// library that has no fork handler. If a thread was inside when the process forked, the child has
// that code's locks but not the thread, so they are held for ever and no thread of the child may
// enter the code. A handler of the C library counts the forks. Must have static storage duration;
// thread-safe.
class ForkHazard {
 public:
  // A scope during which its thread counts as inside.
  class [[nodiscard]] Stay {
   public:
    Stay(Stay&& other) noexcept : hazard_(std::exchange(other.hazard_, nullptr)), epoch_(other.epoch_) {}
    Stay& operator=(Stay&&) = delete;
    ~Stay() {
      if (hazard_ != nullptr) hazard_->leave(epoch_);
    }
    // Returns false if the locks may be held for ever. The thread then does not count as inside.
    explicit operator bool() const { return hazard_ != nullptr; }

   private:
    friend class ForkHazard;
    Stay(ForkHazard* hazard, std::uint32_t epoch) : hazard_(hazard), epoch_(epoch) {}
    ForkHazard* hazard_;
    std::uint32_t epoch_;
  };

  constexpr ForkHazard() = default;
  Stay enter();

 private:
  void leave(std::uint32_t epoch);

  // The upper half is the number of forks so far. The lower half is a bit for lost locks and the
  // number of threads.
  std::atomic<std::uint64_t> state_{0};
};

}  // namespace cubinet
