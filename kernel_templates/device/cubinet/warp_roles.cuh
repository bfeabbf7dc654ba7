// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warp specialisation: registers that move between warpgroups, and barriers for some of the warps.
#include <cubinet/memory.cuh>

namespace cubinet {

// Change the number of registers of the threads of a warpgroup to `kRegistersOfThread`.
// take_registers() increases it and blocks until other warpgroups have given enough;
// give_registers() decreases it. All four warps of the warpgroup must call them (the index of its
// first warp is a multiple of four), in a kernel with a register cap. sm_90a.
template <int kRegistersOfThread>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegistersOfThread));
}
template <int kRegistersOfThread>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegistersOfThread));
}

// Blocks at one of the 16 barriers of the CTA until `threads` threads, which must be whole warps,
// have arrived. __syncthreads() uses barrier 0.
__device__ inline void synchronize_warps(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// Does the same for a constant number of threads.
template <int kThreads>
__device__ inline void synchronize_warps(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}
// Arrives at a barrier without blocking: a producer calls it for data that other warps wait for.
__device__ inline void arrive_at_barrier(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace cubinet
