// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

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

}  // namespace cubinet
