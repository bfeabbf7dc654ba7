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

template <typename Element>
__device__ inline void store_row(const Output& output, int half, GlobalAddress target, float factor) {
#pragma unroll
  for (int tile = 0; tile < kOutputTiles; ++tile)
    store_two_elements<Element>(target + tile * 8 * sizeof(Element), output[tile].r[2 * half] * factor,
                                output[tile].r[2 * half + 1] * factor);
}

// To the output or, where blocks share the tile, to the block's slot.
__device__ inline void store(const AttentionDecodeParameters& p, const WorkDivision& division,
                             const Piece& piece, const PackedRows& rows, const Output& output,
                             const RowEnds& ends, int first_row, int first_column) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + 8 * half;
    if (!rows.holds(row)) continue;
    const int column = first_column + static_cast<int>(threadIdx.x & 3) * 2;
    if (piece.is_whole()) {
      const OutputRow target = output_row(rows, piece.sequence, 0, row);
      RowEnd end(p, target.head);
      const float lse = end.close(ends.lse[half]);
      store_row<dtype_o>(output, half, target.output(p) + column * sizeof(dtype_o),
                         ends.factor[half] * end.factor);
      if (column == 0 && p.lse != 0) store_global_float(p.lse + 4 * target.index(p), lse * kLn2);
    } else {
      const long long partial = static_cast<long long>(division.slot(p, piece)) * p.partial_rows + row;
      store_row<fp32>(output, half, p.partial_o + 4 * (partial * head_dim_v + column), ends.factor[half]);
      if (column == 0) store_global_float(p.partial_lse + 4 * partial, ends.lse[half]);
    }
  }
}

// Of a tile that blocks share: the one that ends last brings their partial results together.
__device__ inline void reduce_if_last(const AttentionDecodeParameters& p, const SharedLayout& layout,
                                      const WorkDivision& division, const Piece& piece,
                                      const PackedRows& rows) {
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
#pragma unroll 1
  for (int i = thread; i < RowParts::kAll; i += kMultiplying) {
    const int row = i / RowParts::kParts;
    const int first = i % RowParts::kParts * RowParts::kElements;
    if (!rows.holds(row)) break;
    PartialSum<RowParts::kElements> sum;
    sum.add(PartialRow(p, slots, 0, row), first, 0, 1, slots.count);
    const float lse = sum.close();
    const OutputRow target = output_row(rows, piece.sequence, 0, row);
    store_output(p, target, first, sum.values, RowEnd(p, target.head), lse);
  }
}

}  // namespace cubinet::attention
