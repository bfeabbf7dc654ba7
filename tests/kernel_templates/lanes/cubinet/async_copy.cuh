// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: cp.async. Some copies read and write at once, others
// when they must be complete.
#include "warp.hpp"

#include <cubinet/memory.cuh>

#include <array>
#include <cstddef>
#include <random>
#include <vector>

namespace cubinet {

// The copies that each thread has started.
class AsyncCopies {
 public:
  static void start(SharedAddress target, GlobalAddress source, bool valid) {
    const Copy copy{target, source, valid};
    if (dice() % 2 == 0) {
      perform(copy);
    } else {
      threads[Warp::thread()].copies.push_back(copy);
    }
  }
  // Returns the number of copies that a thread has started, without those that were made at once.
  static std::size_t started(unsigned thread) { return threads[thread].copies.size(); }
  // Completes the first `count` copies of a thread.
  static void complete(unsigned thread, std::size_t count) {
    Thread& of = threads[thread];
    for (; of.completed < count; ++of.completed)
      perform(of.copies[of.completed]);
  }
  static bool all_complete() {
    for (const Thread& thread : threads)
      if (thread.completed != thread.copies.size()) return false;
    return true;
  }
  static void clear() { threads = {}; }

 private:
  struct Copy {
    SharedAddress target;
    GlobalAddress source;
    bool valid;
  };
  struct Thread {
    std::vector<Copy> copies;
    std::size_t completed;
  };

  static void perform(const Copy& copy) {
    const uint4 bits = load_global_16_or_zero(copy.source, copy.valid);
    store_shared_16(copy.target, {bits.x, bits.y, bits.z, bits.w});
  }

  static inline std::mt19937 dice;
  static inline std::array<Thread, Warp::kMostThreads> threads;
};

inline void async_copy_16_or_zero(SharedAddress target, GlobalAddress source, bool valid) {
  AsyncCopies::start(target, source, valid);
}
template <int kBytes>
void async_copy_part_or_zero(SharedAddress target, GlobalAddress source, int part, bool valid) {
  static_assert(kBytes % 16 == 0);
  async_copy_16_or_zero(target, source, valid && part < kBytes / 16);
}
inline void async_copy_commit() {}
// Completes all copies of the thread, also if some need not be complete.
template <int kPending>
void async_copy_wait() {
  const unsigned thread = Warp::thread();
  AsyncCopies::complete(thread, AsyncCopies::started(thread));
}

}  // namespace cubinet
