// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the output of the template `attention_latent` goes.
#include <cubinet/attention_decode_reduce.cuh>
#include <cubinet/attention_latent_layout.cuh>
#include <cubinet/mma.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention {

// Of half of the columns, as a thread has them: two rows, eight from each other.
constexpr int kOutputTiles = kColumns / 8;
using Output = FragmentD[kOutputTiles];

// What makes the sums of a thread's two rows an output, and their log-sum-exps, base 2.
struct RowEnds {
  float factor[2];
  float lse[2];
};

// An element of one of the thread's rows, times `factor`. What is stored once a piece is one piece of code for both
// rows: unrolled, it would be a third of the kernel's code and of its compilation.
__device__ inline float element_of(const Output& output, int half, int tile, int k, float factor) {
  return __fmul_rn(half == 0 ? output[tile].r[k] : output[tile].r[2 + k], factor);
}

template <typename Element>
__device__ inline void store_row(const Output& output, int half, GlobalAddress target, float factor) {
#pragma unroll
  for (int tile = 0; tile < kOutputTiles; ++tile)
    store_two_elements<Element>(target + tile * 8 * sizeof(Element), element_of(output, half, tile, 0, factor),
                                element_of(output, half, tile, 1, factor));
}

// To the output or, where blocks share the tile, to the block's slot.
__device__ inline void store(const AttentionDecodeParameters& p, const WorkDivision& division,
                             const Piece& piece, const PackedRows& rows, const Output& output,
                             const RowEnds& ends, int first_row, int first_column) {
  const int column = first_column + static_cast<int>(threadIdx.x & 3) * 2;
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + 8 * half;
    if (!rows.holds(row)) break;
    float factor = half == 0 ? ends.factor[0] : ends.factor[1];
    float lse = half == 0 ? ends.lse[0] : ends.lse[1];
    GlobalAddress target;
    GlobalAddress target_lse;
    if (piece.is_whole()) {
      const OutputRow of_row = output_row(rows, piece.sequence, 0, row);
      RowEnd end(p, of_row.head);
      lse = end.close(lse) * kLn2;
      factor *= end.factor;
      target = of_row.output(p) + column * sizeof(dtype_o);
      target_lse = p.lse != 0 ? p.lse + 4 * of_row.index(p) : 0;
    } else {
      const long long partial = static_cast<long long>(division.slot(p, piece)) * p.partial_rows + row;
      target = p.partial_o + 4 * (partial * head_dim_v + column);
      target_lse = p.partial_lse + 4 * partial;
    }
    if (piece.is_whole()) {
      store_row<dtype_o>(output, half, target, factor);
    } else {
      store_row<fp32>(output, half, target, factor);
    }
    if (column == 0 && target_lse != 0) store_global_float(target_lse, lse);
  }
}

// The output of a tile that two blocks share, by the one that ends last: it has its own part in registers. Which
// one that is changes no bit, as each part is rounded before they are added.
__device__ inline void store_with_other(const AttentionDecodeParameters& p, const PartialSlots& slots, int own_slot,
                                        const Piece& piece, const PackedRows& rows, const Output& output,
                                        const RowEnds& ends, int first_row, int first_column) {
  if (first_row >= tile_size_q) return;
  const int other_slot = slots.slot(own_slot == slots.slot(0) ? 1 : 0);
  const int column = first_column + static_cast<int>(threadIdx.x & 3) * 2;
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + 8 * half;
    if (!rows.holds(row)) break;
    const long long partial = static_cast<long long>(other_slot) * p.partial_rows + row;
    const float own_lse = half == 0 ? ends.lse[0] : ends.lse[1];
    const float other_lse = load_global_float(p.partial_lse + 4 * partial);
    const float highest = fmaxf(own_lse, other_lse);
    const float offset = highest == negative_infinity() ? 0.0f : highest;
    const float own_weight = exp2_approx(own_lse - offset);
    const float other_weight = exp2_approx(other_lse - offset);
    const float total = own_weight + other_weight;
    const OutputRow target = output_row(rows, piece.sequence, 0, row);
    RowEnd end(p, target.head);
    const float lse = end.close(total != 0.0f ? highest + log2_approx(total) : negative_infinity());
    const float factor = (total != 0.0f ? reciprocal_approx(total) : 0.0f) * end.factor;
    const float own_factor = half == 0 ? ends.factor[0] : ends.factor[1];
    const GlobalAddress source = p.partial_o + 4 * (partial * head_dim_v + column);
    const GlobalAddress address = target.output(p) + column * sizeof(dtype_o);
    constexpr int kAtOnce = 8;
#pragma unroll
    for (int first = 0; first < kOutputTiles; first += kAtOnce) {
      uint2 others[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        others[i] = load_global_8(source + (first + i) * 8 * sizeof(float));
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        float sums[2];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          const float other = __uint_as_float(k == 0 ? others[i].x : others[i].y);
          const float own = element_of(output, half, first + i, k, own_factor);
          sums[k] = __fadd_rn(__fmul_rn(own_weight, own), __fmul_rn(other_weight, other));
        }
        store_two_elements<dtype_o>(address + (first + i) * 8 * sizeof(dtype_o), sums[0] * factor, sums[1] * factor);
      }
    }
    if (column == 0 && p.lse != 0) store_global_float(p.lse + 4 * target.index(p), lse * kLn2);
  }
}

// Of a tile that blocks share: the one that ends last brings their partial results together.
__device__ inline void reduce_if_last(const AttentionDecodeParameters& p, const SharedLayout& layout,
                                      const WorkDivision& division, const Piece& piece, const PackedRows& rows,
                                      const Output& output, const RowEnds& ends, int first_row, int first_column) {
  constexpr int kMultiplying = kThreads - kWarpgroup;
  const PartialSlots slots(p, piece, division.share());
  const int thread = threadIdx.x - kWarpgroup;
  synchronize_warps(1, kMultiplying);
  if (thread == 0) {
    const GlobalAddress counter =
        p.counters + 4 * (static_cast<long long>(piece.sequence.index) * p.q_tiles + piece.q_tile);
    const bool last = add_global(counter, 1) == slots.count - 1;
    if (last) store_global_int(counter, 0);
    store_shared_4(layout.is_last(), last ? 1 : 0);
  }
  synchronize_warps(1, kMultiplying);
  if (load_shared_4(layout.is_last()) == 0) return;
  if (slots.count == 2) {
    store_with_other(p, slots, division.slot(p, piece), piece, rows, output, ends, first_row, first_column);
    return;
  }
  const PartialRows partial(p, 0);
  store_rows<kMultiplying>(p, rows, piece.sequence, partial, 0, -1, thread, ReducedRows{partial, slots});
}

}  // namespace cubinet::attention
