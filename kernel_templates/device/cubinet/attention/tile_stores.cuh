// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores of product tiles from registers. Of each row of a tile of 8 columns, four lanes have two
// adjacent elements each, so a store of these alone would write parts of sectors. The lanes
// exchange elements first, and write 64 or 128 adjacent bytes of a row together.
#include <cubinet/elements.cuh>

namespace cubinet::attention {

// Exchanges words with the lane whose index differs in `kBit`. The lower lane keeps `first` and
// receives that of the upper one; the upper lane keeps `second`. `joined` has the lower lane's
// words first. All lanes of the warp must call it.
template <int kBit, int kWords>
__device__ inline void join_with_lane(int lane, unsigned (&joined)[2 * kWords],
                                      const unsigned (&first)[kWords], const unsigned (&second)[kWords]) {
  const bool is_upper = (lane & kBit) != 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const unsigned received = __shfl_xor_sync(kAllLanes, is_upper ? first[i] : second[i], kBit);
    joined[i] = is_upper ? received : first[i];
    joined[kWords + i] = is_upper ? second[i] : received;
  }
}

// Returns two elements of 16 or 8 bits, the first one in the low bits.
template <typename Element>
__device__ inline unsigned packed_pair(const float (&values)[2]) {
  if constexpr (is_same<Element, e4m3>) {
    const float four[4] = {values[0], values[1], 0.0f, 0.0f};
    return pack4_e4m3(four);
  } else {
    return pack2<Element>(values[0], values[1]);
  }
}

// Stores a row of four adjacent tiles, of which each lane has two elements of every tile. `target`
// is the address of the first element, aligned to the 16 bytes of a store, or 8 bytes of e4m3. A
// lane of a row that does not exist stores nothing. `lane` is the lane's index among those of the
// row. All lanes of the warp must call it.
template <typename Element>
__device__ inline void store_four_tiles(int lane, GlobalAddress target, const float (&values)[4][2],
                                        bool exists) {
  if constexpr (is_same<Element, fp32>) {
    // A lane has half of the row of two tiles.
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const unsigned first[2] = {__float_as_uint(values[i][0]), __float_as_uint(values[i][1])};
      const unsigned second[2] = {__float_as_uint(values[i + 1][0]), __float_as_uint(values[i + 1][1])};
      unsigned half[4];
      join_with_lane<1>(lane, half, first, second);
      if (exists)
        store_global_16(target + (i + lane % 2) * 32 + lane / 2 * 16,
                        make_uint4(half[0], half[1], half[2], half[3]));
    }
  } else {
    // A lane has the row of tile `lane`.
    unsigned halves[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned first[1] = {packed_pair<Element>(values[2 * i])};
      const unsigned second[1] = {packed_pair<Element>(values[2 * i + 1])};
      join_with_lane<1>(lane, halves[i], first, second);
    }
    if constexpr (is_same<Element, e4m3>) {
      const unsigned first[1] = {halves[0][0] | halves[0][1] << 16};
      const unsigned second[1] = {halves[1][0] | halves[1][1] << 16};
      unsigned whole[2];
      join_with_lane<2>(lane, whole, first, second);
      if (exists) store_global_8(target + lane * 8, make_uint2(whole[0], whole[1]));
    } else {
      unsigned whole[4];
      join_with_lane<2>(lane, whole, halves[0], halves[1]);
      if (exists) store_global_16(target + lane * 16, make_uint4(whole[0], whole[1], whole[2], whole[3]));
    }
  }
}

}  // namespace cubinet::attention
