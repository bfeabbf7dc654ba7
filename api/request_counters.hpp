// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "atomic_histogram.hpp"

#include <cubinet/base/thread_counter.hpp>
#include <cubinet/runtime.hpp>

#include <atomic>

namespace cubinet {

// The counters of a Runtime. Thread-safe and lock-free.
class RequestCounters {
 public:
  // Counts a request that missed the process cache. `missed`: no build was found, and compiling is
  // off.
  void count(const KernelEvent& event, bool missed);
  void count(const TrimmedModules& trimmed);
  // Returns everything but the uses of stores.
  Runtime::Counters read() const;

  ThreadCounter process_hits;  // the only one on the path of a hit
  std::atomic<std::uint64_t> failures{0};
  AtomicHistogram wait_seconds;

 private:
  std::atomic<std::uint64_t>& of(KernelSource source);

  std::atomic<std::uint64_t> memory_hits_{0};
  std::atomic<std::uint64_t> registry_hits_{0};
  std::atomic<std::uint64_t> bundle_hits_{0};
  std::atomic<std::uint64_t> compiled_{0};
  std::atomic<std::uint64_t> imported_hits_{0};
  std::atomic<std::uint64_t> server_hits_{0};
  std::atomic<std::uint64_t> misses_{0};
  std::atomic<std::uint64_t> trims_{0};
  std::atomic<std::uint64_t> trimmed_modules_{0};
  std::atomic<std::uint64_t> trimmed_bytes_{0};
  AtomicHistogram request_seconds_;
  AtomicHistogram find_seconds_;
  AtomicHistogram compile_seconds_;
  AtomicHistogram load_seconds_;
};

}  // namespace cubinet
