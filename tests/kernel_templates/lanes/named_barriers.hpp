// SPDX-License-Identifier: Apache-2.0
#pragma once
// The barriers of a CTA and of a cluster, which count threads.
#include "warp.hpp"

#include <array>

namespace cubinet {

class NamedBarriers {
 public:
  static constexpr unsigned kOfCluster = 16;  // after the barriers of a CTA

  // Arrives with the running warp. All lanes must call it. `slot` is that of the CTA, or of the
  // first CTA of a cluster.
  static void arrive(unsigned slot, unsigned number, unsigned threads) {
    if (Warp::lane() != 0) return;
    Barrier& barrier = barriers[slot][number];
    if (barrier.arrived != 0 && barrier.threads != threads) ++contradictions;
    barrier.threads = threads;
    barrier.arrived += kLanes;
    if (barrier.arrived < threads) return;
    barrier.arrived = 0;
    ++barrier.phases;
  }
  // Arrives, and blocks until `threads` threads have arrived.
  static void synchronize(unsigned slot, unsigned number, unsigned threads) {
    const unsigned phase = barriers[slot][number].phases;
    arrive(slot, number, threads);
    Warp::wait_until([slot, number, phase] { return barriers[slot][number].phases != phase; },
                     "the named barrier", number);
  }

  // Returns whether no barrier has arrivals of an incomplete phase, and warps agreed on the number
  // of threads.
  static bool all_complete() {
    for (const auto& of_block : barriers)
      for (const Barrier& barrier : of_block)
        if (barrier.arrived != 0) return false;
    return contradictions == 0;
  }
  static void clear() {
    barriers = {};
    contradictions = 0;
  }

 private:
  struct Barrier {
    unsigned arrived;  // threads
    unsigned threads;
    unsigned phases;
  };

  static inline std::array<std::array<Barrier, kOfCluster + 1>, kMostBlocks> barriers;
  static inline int contradictions = 0;
};

inline void __syncthreads() {  // NOLINT(bugprone-reserved-identifier): the name is CUDA's
  NamedBarriers::synchronize(Warp::slot(), 0, blockDim.x);
}
int __syncthreads_or(int condition);  // NOLINT(bugprone-reserved-identifier): tests do not call it

}  // namespace cubinet
