// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shared memory and the barriers of `attention_latent` if Q and KV are e4m3.
#include <cubinet/attention_latent/layout.cuh>

namespace cubinet::attention_latent {

// Operand 0 is Q; the slots of K, which hold slices as they are in memory, are operands 1 to 3.
// Parts hold V as fp16.
struct E4m3Layout : ExchangeLayout {
  static constexpr int kQ = 0;
  __device__ static int operand_of(int slot) { return 1 + slot; }

  // Returns the address of the whole blocks of an operand.
  __device__ SharedAddress operand(int number) const { return base + number * e4m3_rows::kOperandBytes; }
  // Return the address of the block that has the rest of an operand, and the first chunk of it.
  __device__ SharedAddress rest(int number) const {
    return base + e4m3_rows::kRestsOffset + number / 2 * e4m3_rows::kBlockBytes;
  }
  __device__ static int rest_chunk(int number) { return number % 2 * (e4m3_rows::kRestElements / 16); }

  __device__ SharedAddress v(int part) const {
    return base + e4m3_rows::kPartsOffset + part * e4m3_rows::kPartBytes;
  }
  // Returns the number of the part of V that has these halves of the tokens and of the columns.
  __device__ static int part_of(int tokens, int columns) { return 2 * tokens + columns; }

  __device__ SharedAddress k_full(int slot) const { return barrier(slot); }
  __device__ SharedAddress k_empty(int slot) const { return barrier(e4m3_rows::kSlots + slot); }
  __device__ SharedAddress v_full(int part) const { return barrier(2 * e4m3_rows::kSlots + part); }
  __device__ SharedAddress v_empty(int part) const { return barrier(2 * e4m3_rows::kSlots + 4 + part); }

  // Each thread of the producer arrives with its copies; otherwise each warp arrives once.
  __device__ void init() const {
#pragma unroll 1
    for (int i = 0; i < e4m3_rows::kSlots; ++i) {
      mbarrier_init(k_full(i), kWarpgroup);
      mbarrier_init(k_empty(i), 4 + 4);  // of the consumer of its scores, and of the producer
    }
#pragma unroll 1
    for (int i = 0; i < 8; ++i)
      mbarrier_init(v_full(i), 4);
    mbarrier_init(q_full(), kWarpgroup);
    mbarrier_init(q_empty(), 8);
  }
};

}  // namespace cubinet::attention_latent
