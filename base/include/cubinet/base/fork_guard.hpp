// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

namespace cubinet {

// Tells the process that made it from children forked later. The mark lies in a page that the kernel hands to
// children zeroed (MADV_WIPEONFORK, Linux 4.14), so the question costs one load: no getpid, no atfork
// handler, no global state. Where the kernel refuses, every process counts as the original.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  bool in_original_process() const { return mark_ == nullptr || mark_->load(std::memory_order_relaxed) != 0; }

 private:
  std::atomic<int>* mark_ = nullptr;
  std::size_t page_bytes_ = 0;
};

}  // namespace cubinet
