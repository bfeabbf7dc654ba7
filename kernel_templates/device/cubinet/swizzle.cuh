// SPDX-License-Identifier: Apache-2.0
#pragma once
// Swizzled layouts of tiles in shared memory. Rows consist of chunks of 16 bytes.
#include <cubinet/memory.cuh>

namespace cubinet {

// Returns the number that the chunk indices of a row are XORed with. Two 64-byte rows that share
// the 128 bytes of all banks have the same number.
template <int kRowBytes>
__host__ __device__ constexpr int swizzle_of(int row) {
  return kRowBytes % 128 == 0 ? row & 7 : row >> 1 & 3;
}

// Returns the byte offset of a 16-byte chunk. The low bits of the chunk index are XORed with those
// of the row, so copies and ldmatrix (8 rows, one chunk column) have no bank conflicts. Rows are
// aligned to their size, so an XOR (`advanced`) also moves an address by chunks, provided that the
// chunk index does not use these bits yet.
template <int kRowBytes>
__device__ inline unsigned swizzled(int row, int chunk) {
  return static_cast<unsigned>(row * kRowBytes + ((chunk ^ swizzle_of<kRowBytes>(row)) << 4));
}

__device__ inline SharedAddress advanced(SharedAddress address, int chunks) {
  return address ^ static_cast<unsigned>(chunks << 4);
}

// Moves `address`, which is that of one of the first chunks of a row, by `chunks` chunks. Rows may
// have any size.
template <int kRowBytes>
__device__ inline SharedAddress advanced_in(SharedAddress address, int chunks) {
  constexpr int kSwizzled = kRowBytes % 128 == 0 ? 8 : 4;  // chunks that the swizzle permutes
  return advanced(address, chunks % kSwizzled) + static_cast<unsigned>(chunks / kSwizzled * kSwizzled * 16);
}

// A layout gives the offset of a chunk of a row (`place`), and the bytes from one row to the next
// without the swizzle (`kStep`). SwizzledRows stores one row after the other.
template <int kRowBytes>
struct SwizzledRows {
  static constexpr int kStep = kRowBytes;

  __device__ static unsigned place(int row, int chunk) { return swizzled<kRowBytes>(row, chunk); }
};
// Stores columns of 128 bytes, each of all `kRows` rows, which is the layout that wgmma reads.
template <int kRows>
struct SwizzledColumns {
  static constexpr int kStep = 128;

  __device__ static unsigned place(int row, int chunk) {
    return static_cast<unsigned>(chunk / 8 * (kRows * kStep)) + swizzled<kStep>(row, chunk % 8);
  }
};

}  // namespace cubinet
