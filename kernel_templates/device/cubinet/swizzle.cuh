// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout of the tiles in shared memory.
#include <cubinet/memory.cuh>

namespace cubinet {

// What the chunks of a row are XORed with. Of two rows of which the second begins in the middle of the 128
// bytes that all banks hold, it is the same.
template <int kRowBytes>
__host__ __device__ constexpr int swizzle_of(int row) {
  return kRowBytes % 128 == 0 ? row & 7 : row >> 1 & 3;
}

// Rows of 16-byte chunks; a chunk's low bits are XORed with the row's, so that neither the copies nor
// ldmatrix (8 rows, one chunk column) meet in a bank. As the rows are aligned to their size, moving an
// address by a chunk count whose bits it does not use yet is an XOR too: see `advanced`.
template <int kRowBytes>
__device__ inline unsigned swizzled(int row, int chunk) {
  return static_cast<unsigned>(row * kRowBytes + ((chunk ^ swizzle_of<kRowBytes>(row)) << 4));
}

__device__ inline SharedAddress advanced(SharedAddress address, int chunks) {
  return address ^ static_cast<unsigned>(chunks << 4);
}

// The same of rows of any size, from one of a row's first chunks on.
template <int kRowBytes>
__device__ inline SharedAddress advanced_in(SharedAddress address, int chunks) {
  constexpr int kSwizzled = kRowBytes % 128 == 0 ? 8 : 4;  // chunks that change their places with each other
  return advanced(address, chunks % kSwizzled) + static_cast<unsigned>(chunks / kSwizzled * kSwizzled * 16);
}

// Where chunks of rows lie, and how far it is from a row to the next but for the swizzle: rows side by side,
template <int kRowBytes>
struct SwizzledRows {
  static constexpr int kStep = kRowBytes;

  __device__ static unsigned place(int row, int chunk) { return swizzled<kRowBytes>(row, chunk); }
};
// or columns of 128 bytes, those of all rows side by side, as warpgroups multiply them.
template <int kRows>
struct SwizzledColumns {
  static constexpr int kStep = 128;

  __device__ static unsigned place(int row, int chunk) {
    return static_cast<unsigned>(chunk / 8 * (kRows * kStep)) + swizzled<kStep>(row, chunk % 8);
  }
};

}  // namespace cubinet
