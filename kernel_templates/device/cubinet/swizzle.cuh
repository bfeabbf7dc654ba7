// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout of the tiles in shared memory.
#include <cubinet/memory.cuh>

namespace cubinet {

// Returns the number with which the chunks of a row are XORed. Two rows of 64 bytes that share the
// 128 bytes of all banks have the same one.
template <int kRowBytes>
__host__ __device__ constexpr int swizzle_of(int row) {
  return kRowBytes % 128 == 0 ? row & 7 : row >> 1 & 3;
}

// Returns the offset of a 16-byte chunk. A chunk's low bits are XORed with the row's, so that
// neither copies nor ldmatrix (8 rows, one chunk column) have bank conflicts. Since rows are
// aligned to their size, moving an address by a number of chunks whose bits it does not use yet is
// an XOR too: `advanced`.
template <int kRowBytes>
__device__ inline unsigned swizzled(int row, int chunk) {
  return static_cast<unsigned>(row * kRowBytes + ((chunk ^ swizzle_of<kRowBytes>(row)) << 4));
}

__device__ inline SharedAddress advanced(SharedAddress address, int chunks) {
  return address ^ static_cast<unsigned>(chunks << 4);
}

// The same for rows of any size. `address` is that of one of a row's first chunks.
template <int kRowBytes>
__device__ inline SharedAddress advanced_in(SharedAddress address, int chunks) {
  constexpr int kSwizzled = kRowBytes % 128 == 0 ? 8 : 4;  // chunks that are swapped among each other
  return advanced(address, chunks % kSwizzled) + static_cast<unsigned>(chunks / kSwizzled * kSwizzled * 16);
}

// Layouts: the offset of a chunk of a row, and the bytes from a row to the next without the
// swizzle. Rows one after the other:
template <int kRowBytes>
struct SwizzledRows {
  static constexpr int kStep = kRowBytes;

  __device__ static unsigned place(int row, int chunk) { return swizzled<kRowBytes>(row, chunk); }
};
// Columns of 128 bytes, each of all rows, as warpgroups multiply them:
template <int kRows>
struct SwizzledColumns {
  static constexpr int kStep = 128;

  __device__ static unsigned place(int row, int chunk) {
    return static_cast<unsigned>(chunk / 8 * (kRows * kStep)) + swizzled<kStep>(row, chunk % 8);
  }
};

}  // namespace cubinet
