// SPDX-License-Identifier: Apache-2.0
#pragma once
// Barriers in shared memory (sm_90 and up), by which threads that bring data meet those that use it. A phase
// of a barrier ends when as many have arrived as `mbarrier_init` said and all bytes that were announced are
// there; phases alternate in parity, the first has 0.
#include <cubinet/memory.cuh>

namespace cubinet {

inline constexpr unsigned kMbarrierBytes = 8;

// By one thread, before a barrier of the block that all pass before they use it.
__device__ inline void mbarrier_init(SharedAddress barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ inline void mbarrier_arrive(SharedAddress barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and announces bytes that a bulk copy will bring.
__device__ inline void mbarrier_arrive_expect_bytes(SharedAddress barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Arrives when all of this thread's cp.async so far have: one of the arrivals that `mbarrier_init` counted.
__device__ inline void mbarrier_arrive_with_copies(SharedAddress barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Returns once the phase of this parity has ended. Of a barrier in its first phase the one of parity 1 has.
__device__ inline void mbarrier_wait(SharedAddress barrier, unsigned parity) {
  unsigned ended = 0;
  while (ended == 0) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(ended)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  }
}

// Between ordinary accesses to shared memory, cp.async among them, and those of wgmma and bulk copies. Who
// wrote may call it before it arrives, or who reads after it has waited.
__device__ inline void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace cubinet
