// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warp specialisation: registers that move between warpgroups, and barriers of some warps.
#include <cubinet/memory.cuh>

namespace cubinet {

// Take and give registers. Called by all warps of a warpgroup (four warps; the number of the first
// is a multiple of four) in a kernel with a register cap. Taking blocks until others have given
// enough. sm_90a.
template <int kRegistersOfThread>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegistersOfThread));
}
template <int kRegistersOfThread>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegistersOfThread));
}

// Waits at one of the block's 16 barriers for `threads` threads, which are whole warps.
// __syncthreads uses barrier 0.
__device__ inline void synchronize_warps(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// The same with a number of threads that is a constant.
template <int kThreads>
__device__ inline void synchronize_warps(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}
// Arrives without waiting, for producers of what other warps wait for.
__device__ inline void arrive_at_barrier(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace cubinet
