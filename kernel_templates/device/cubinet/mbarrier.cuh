// SPDX-License-Identifier: Apache-2.0
#pragma once
// Barriers in shared memory (sm_90 and later) between producers and consumers. A phase of an
// mbarrier ends when the number of arrivals given to `mbarrier_init` and all announced bytes have
// arrived. The parity of the phases alternates; the first phase has parity 0. Any thread may arrive
// or wait.
#include <cubinet/memory.cuh>

namespace cubinet {

inline constexpr unsigned kMbarrierBytes = 8;

// Initialises an mbarrier of kMbarrierBytes for `arrivals` arrivals a phase. One thread must call
// it; a CTA-wide barrier must follow before the first use.
__device__ inline void mbarrier_init(SharedAddress barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Arrives once.
__device__ inline void mbarrier_arrive(SharedAddress barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and announces `bytes` bytes of bulk copies, for which the phase waits too.
__device__ inline void mbarrier_arrive_expect_bytes(SharedAddress barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Arrives when all previous cp.async of this thread are complete. It counts as one of the arrivals
// given to `mbarrier_init`.
__device__ inline void mbarrier_arrive_with_copies(SharedAddress barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Blocks until the phase with this parity has ended. Returns at once for parity 1 during the first
// phase.
__device__ inline void mbarrier_wait(SharedAddress barrier, unsigned parity) {
  unsigned ended = 0;
  while (ended == 0) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(ended)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  }
}

// Orders ordinary accesses to shared memory, including cp.async, before accesses by wgmma and bulk
// copies. Either the writer calls it before it arrives, or the reader calls it after its wait.
__device__ inline void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace cubinet
