// SPDX-License-Identifier: Apache-2.0
#pragma once
// What warps of different work in one block need: registers moved between them, and barriers for some of
// them.
#include <cubinet/memory.cuh>

namespace cubinet {

// By all warps of a warpgroup (four, of which the first has a number divisible by four), in a kernel that has
// a register cap. Registers are taken as soon as others have given theirs. sm_90a.
template <int kRegistersOfThread>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegistersOfThread));
}
template <int kRegistersOfThread>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegistersOfThread));
}

// One of the block's 16 barriers, of which __syncthreads has number 0. `threads`: whole warps.
__device__ inline void synchronize_warps(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// The same without waiting: for those who bring what the others wait for.
__device__ inline void arrive_at_barrier(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace cubinet
