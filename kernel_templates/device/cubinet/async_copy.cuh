// SPDX-License-Identifier: Apache-2.0
#pragma once
// cp.async: 16-byte copies from global to shared memory that bypass the registers.
#include <cubinet/memory.cuh>

namespace cubinet {

__device__ inline void async_copy_16(SharedAddress target, GlobalAddress source) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(target), "l"(source) : "memory");
}

// Writes zeros and reads nothing if `valid` is false. The source may then be any address.
__device__ inline void async_copy_16_or_zero(SharedAddress target, GlobalAddress source, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(bytes)
               : "memory");
}

__device__ inline void async_copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `Pending` of this thread's newest groups are in flight.
template <int Pending>
__device__ inline void async_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace cubinet
