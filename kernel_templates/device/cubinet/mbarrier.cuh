// SPDX-License-Identifier: Apache-2.0
#pragma once
// Barriers in shared memory (sm_90 and up) between producers and consumers of data. A phase of a
// barrier ends when the number of arrivals given to `mbarrier_init` and all announced bytes have
// arrived. Phases alternate in parity; the first has parity 0.
#include <cubinet/memory.cuh>

namespace cubinet {

inline constexpr unsigned kMbarrierBytes = 8;

// Called by one thread. A block-wide barrier stands between this and the first use.
__device__ inline void mbarrier_init(SharedAddress barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ inline void mbarrier_arrive(SharedAddress barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and announces bytes of bulk copies.
__device__ inline void mbarrier_arrive_expect_bytes(SharedAddress barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Arrives when all of this thread's cp.async so far are complete. Counts as one arrival of
// `mbarrier_init`.
__device__ inline void mbarrier_arrive_with_copies(SharedAddress barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Blocks until the phase of this parity has ended. Returns at once for parity 1 while the first
// phase lasts.
__device__ inline void mbarrier_wait(SharedAddress barrier, unsigned parity) {
  unsigned ended = 0;
  while (ended == 0) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(ended)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  }
}

// Orders ordinary accesses to shared memory, including cp.async, before those of wgmma and bulk
// copies. Called by the writer before it arrives, or by the reader after it has waited.
__device__ inline void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace cubinet
