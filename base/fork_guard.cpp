// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/fork_guard.hpp>

#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace cubinet {
namespace {

// Returns the number of forks between this process and the one that first called. Only the handler
// changes it.
const std::atomic<int>& fork_count() {
  static std::atomic<int> count = 0;
  // If the registration fails (no memory), the count stays 0 and every process counts as the
  // original.
  [[maybe_unused]] static const int status = ::pthread_atfork(nullptr, nullptr, [] { ++count; });
  return count;
}

}  // namespace

ForkGuard::ForkGuard(Mechanism mechanism) : page_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
  if (mechanism == Mechanism::wiped_page) {
    void* page = ::mmap(nullptr, page_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && ::madvise(page, page_bytes_, MADV_WIPEONFORK) == 0) {
      page_ = page;
      expected_ = 1;
      mark_ = new (page) std::atomic<int>(expected_);
      return;
    }
    if (page != MAP_FAILED) ::munmap(page, page_bytes_);
  }
  mark_ = &fork_count();
  expected_ = mark_->load(std::memory_order_relaxed);
}

ForkGuard::~ForkGuard() {
  if (page_ != nullptr) ::munmap(page_, page_bytes_);
}

namespace {

constexpr std::uint64_t kLost = std::uint64_t{1} << 31U;
constexpr std::uint64_t kThreads = kLost - 1;

std::uint32_t epoch_of(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> 32U);
}

}  // namespace

ForkHazard::Stay ForkHazard::enter() {
  const auto epoch = static_cast<std::uint32_t>(fork_count().load(std::memory_order_relaxed));
  std::uint64_t seen = state_.load(std::memory_order_relaxed);
  while (true) {
    std::uint64_t now = seen;
    if (epoch_of(seen) != epoch) {
      // This is the first call since the fork.
      const bool lost = (seen & (kLost | kThreads)) != 0;
      now = (std::uint64_t{epoch} << 32U) | (lost ? kLost : 0);
    }
    if ((now & kLost) != 0) return {nullptr, epoch};
    if (state_.compare_exchange_weak(seen, now + 1)) return {this, epoch};
  }
}

void ForkHazard::leave(std::uint32_t epoch) {
  std::uint64_t seen = state_.load(std::memory_order_relaxed);
  while (epoch_of(seen) == epoch && !state_.compare_exchange_weak(seen, seen - 1)) {
  }
}

}  // namespace cubinet
