// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_decode` brings together what several blocks computed of one tile: the block
// that ends last does it, in the order of the pieces, so that the bits do not depend on which one that is.
#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_merge.cuh>

namespace cubinet::attention {

// Whether all of a tile's partial results are there. Called by the whole block, when it has stored its own;
// the answer leaves the counter as it was found before the first.
__device__ inline bool is_last_of_tile(const AttentionDecodeParameters& p, const Piece& piece, int head_kv,
                                       int count) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    const long long tile = static_cast<long long>(piece.sequence) * p.q_tiles + piece.q_tile;
    const GlobalAddress counter = p.counters + 4 * (tile * p.heads_kv.divisor + head_kv);
    last = add_global(counter, 1) == count - 1;
    if (last) store_global_int(counter, 0);
  }
  return __syncthreads_or(last) != 0;
}

// A running softmax over partial results, some of which are on their way at a time.
__device__ inline void reduce_rows(const AttentionDecodeParameters& p, const PartialSlots& slots,
                                   const PackedRows& rows, const Sequence& sequence, int head_kv) {
  constexpr int kElements = RowParts::kElements;
  constexpr int kAtOnce = 4;
#pragma unroll 1
  for (int i = threadIdx.x; i < RowParts::kAll; i += kThreads) {
    const int row = i / RowParts::kParts;
    const int first = i % RowParts::kParts * kElements;
    if (!rows.holds(row)) break;
    float values[kElements] = {};
    float highest = negative_infinity();
    float total = 0.0f;
    // Past the end the last is read again and left out, which takes no loop of its own. A weight of 0 would
    // not do: a partial result may be infinite.
#pragma unroll 1
    for (int j = 0; j < slots.count; j += kAtOnce) {
      float lse[kAtOnce];
      uint4 parts[kAtOnce][2];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const PartialRow source(p, slots.slot(minimum(j + k, slots.count - 1)), head_kv, row);
        lse[k] = load_global_float(source.lse(p));
        parts[k][0] = load_global_16(source.output(p, first));
        parts[k][1] = load_global_16(source.output(p, first + 4));
      }
      float newest = highest;
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        newest = fmaxf(newest, lse[k]);
      const float offset = newest == negative_infinity() ? 0.0f : newest;
      const float correction = exp2_approx(highest - offset);
      highest = newest;
      total *= correction;
#pragma unroll
      for (int i = 0; i < kElements; ++i)
        values[i] *= correction;
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (j + k >= slots.count) break;
        float part[kElements];
        Vector16<fp32>::unpack(parts[k][0], part);
        Vector16<fp32>::unpack(parts[k][1], part + 4);
        const float weight = exp2_approx(lse[k] - offset);
        total += weight;
#pragma unroll
        for (int i = 0; i < kElements; ++i)
          values[i] = fmaf(weight, part[i], values[i]);
      }
    }
    const float scale = total > 0.0f ? reciprocal_approx(total) : 0.0f;
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      values[i] *= scale;
    const OutputRow target = output_row(rows, sequence, head_kv, row);
    const float lse = total > 0.0f ? highest + log2_approx(total) : negative_infinity();
    store_output(p, target, first, values, RowEnd(p, target.head, lse));
  }
}

}  // namespace cubinet::attention
