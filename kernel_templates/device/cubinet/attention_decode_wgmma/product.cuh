// SPDX-License-Identifier: Apache-2.0
#pragma once
// The products of `attention_decode_wgmma`. A warpgroup multiplies 64 rows with one slice of 64
// tokens at a time.
#include <cubinet/attention/softmax.cuh>
#include <cubinet/attention_decode_wgmma/shape.cuh>
#include <cubinet/swizzle.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention_decode_wgmma {

constexpr int kBlockBytesQ = tile_size_q * 128;
constexpr int kBlockBytesSlice = kSlice * 128;

using LayoutQ = SwizzledColumns<tile_size_q>;
using RowState = RowStateOf<Shape>;
using Weights = WeightsOf<Shape>;

// Starts the product Q K^T, the raw logits of a slice. Q stays in shared memory: ptxas 13.0 may
// assign the registers of an operand that lives across a loop to another product's operand inside
// the loop.
__device__ inline void start_qk(FragmentD (&scores)[kTilesS], SharedAddress q_shared, SharedAddress k_slice) {
  const MatrixDescriptor q = rows_of_k(q_shared);
  const MatrixDescriptor k = rows_of_k(k_slice);
  wgmma_begin(scores);
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step)
    Wgmma<Product, kSlice>::multiply(scores, descriptor_behind(q, step / 4 * kBlockBytesQ + step % 4 * 32),
                                     descriptor_behind(k, step / 4 * kBlockBytesSlice + step % 4 * 32),
                                     step > 0);
  wgmma_commit();
}

// Starts the product of the weights and a slice of V, which is added to the output.
__device__ inline void start_pv(RowState& state, Weights& weights, SharedAddress v_slice) {
  const MatrixDescriptor v = columns_of_k(v_slice, kBlockBytesSlice);
  wgmma_begin(state.output, weights.steps);
#pragma unroll
  for (int step = 0; step < kSlice / 16; ++step)
    Wgmma<Product, head_dim_v>::template multiply<LayoutB::columns_of_k>(
        state.output, weights.steps[step], descriptor_behind(v, step * (16 * 128)), true);
  wgmma_commit();
}

}  // namespace cubinet::attention_decode_wgmma
