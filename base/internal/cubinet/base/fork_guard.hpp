// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cubinet {

// Tells the process that made it from children forked later. The mark lies in a page that the kernel hands to
// children zeroed (MADV_WIPEONFORK, Linux 4.14), so the question costs one load and no getpid. Where the
// kernel refuses, as gVisor does, the mark is a count of forks that a handler of the C library keeps: then a
// child made by a bare clone() counts as the original.
class ForkGuard {
 public:
  enum class Mechanism { wiped_page, fork_handler };

  ForkGuard() : ForkGuard(Mechanism::wiped_page) {}
  // The mechanism to try first; the fork handler is what is left where the page is refused.
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

// Keeps count of the threads that are inside code of others that has locks of its own: a library that cannot
// be told of a fork. Where a thread was inside when the process forked, the child lacks that thread and has
// its locks, held for ever: nobody may go in there. Forks are counted by a handler of the C library. An
// object with static storage duration; thread-safe.
class ForkHazard {
 public:
  // While it lives, its thread counts as inside.
  class [[nodiscard]] Stay {
   public:
    Stay(Stay&& other) noexcept : hazard_(std::exchange(other.hazard_, nullptr)), epoch_(other.epoch_) {}
    Stay& operator=(Stay&&) = delete;
    ~Stay() {
      if (hazard_ != nullptr) hazard_->leave(epoch_);
    }
    // False: the locks may be held for ever, and nobody is inside.
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

  // Forks so far in the upper half; below, a bit for locks that are lost, and the number of threads.
  std::atomic<std::uint64_t> state_{0};
};

}  // namespace cubinet
