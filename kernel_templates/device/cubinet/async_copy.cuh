// SPDX-License-Identifier: Apache-2.0
#pragma once
// cp.async: copies from global to shared memory that bypass the registers. Both addresses must be
// multiples of the bytes that are copied: 16 or 8. Each thread copies, commits and waits for
// itself; other threads see the data after a barrier that follows the wait.
#include <cubinet/memory.cuh>

namespace cubinet {

// Starts the copy of 16 bytes.
__device__ inline void async_copy_16(SharedAddress target, GlobalAddress source) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(target), "l"(source) : "memory");
}

// Copies 16 bytes if `valid` is true. Otherwise writes zeros and reads nothing; the source may then
// be any address.
__device__ inline void async_copy_16_or_zero(SharedAddress target, GlobalAddress source, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(bytes)
               : "memory");
}

// Does the same with 8 bytes.
__device__ inline void async_copy_8_or_zero(SharedAddress target, GlobalAddress source, bool valid) {
  const int bytes = valid ? 8 : 0;
  asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 8, %2;" ::"r"(target), "l"(source), "r"(bytes)
               : "memory");
}

// Copies part number `part`, of 16 bytes, of a row of `kBytes` bytes. Bytes behind the row, and all
// if `valid` is false, become zeros and are not read. A row whose bytes are no multiple of 16 may
// begin at a multiple of 8.
template <int kBytes>
__device__ inline void async_copy_part_or_zero(SharedAddress target, GlobalAddress source, int part,
                                               bool valid) {
  if constexpr (kBytes % 16 == 0) {
    async_copy_16_or_zero(target, source, valid && part < kBytes / 16);
  } else {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      async_copy_8_or_zero(target + 8 * half, source + 8 * half, valid && 2 * part + half < kBytes / 8);
  }
}

// Makes a group of the copies that this thread started since the last commit. A group may be empty.
__device__ inline void async_copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Blocks until at most `Pending` of the newest groups of this thread are in flight.
template <int Pending>
__device__ inline void async_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace cubinet
