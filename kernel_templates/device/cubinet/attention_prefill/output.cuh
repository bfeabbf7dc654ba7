// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the rows of a tile of `attention_prefill`, and their LSEs.
#include <cubinet/attention/output.cuh>
#include <cubinet/attention/segments.cuh>
#include <cubinet/attention/softmax.cuh>
#include <cubinet/attention_prefill/schedule.cuh>
#include <cubinet/attention_prefill/shape.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention_prefill {

// Writes the LSE of a row if its lane is the row's first. `lse` is a natural logarithm.
__device__ inline void store_lse(const AttentionPrefillParameters& p, const OutputRow& row, float lse) {
  if (p.lse == 0 || threadIdx.x % 4 != 0) return;
  const long long token = static_cast<long long>(row.sequence.q_first) + row.token;
  store_global_float(p.lse + 4 * (token * p.heads_q.divisor + row.head), lse);
}

// The factor that normalises one of a lane's two rows, and the row's LSE.
struct NormalisedRow {
  float factor;
  float lse;  // natural logarithm

  __device__ NormalisedRow(const AttentionPrefillParameters& p, const TileOf<Shape>& tile, int head,
                           const RowStateOf<Shape>& state, int half) {
    const float sum = lanes_sum<4>(state.sum[half]);
    RowEpilogue<false> epilogue(p, head,
                                v_scale<Shape::kHasHeadScales>(p, tile.sequence.index, tile.head_kv));
    // A row that sees no token has the sum 0 and the maximum -infinity. A NaN sum stays NaN.
    lse =
        kLn2 * epilogue.add_sink(sum != 0.0f ? state.maximum[half] + log2_approx(sum) : negative_infinity());
    factor = sum != 0.0f ? epilogue.factor * reciprocal_approx(sum) : 0.0f;
  }

  __device__ float normalised(float value) const { return value * factor; }
};

__device__ inline NormalisedRow finished_row(const AttentionPrefillParameters& p, const TileOf<Shape>& tile,
                                             int head, const RowStateOf<Shape>& state, int half) {
  return {p, tile, head, state, half};
}
__device__ inline FinishedRow finished_row(const AttentionPrefillParameters& p, const TileOf<Shape>& tile,
                                           int head, const FoldedRowsOf<Shape>& folded, int half) {
  const float scale = v_scale<Shape::kHasHeadScales>(p, tile.sequence.index, tile.head_kv);
  return {RowEpilogue<false>(p, head, scale), folded.rows[half]};
}

// Writes the 16 rows of a warp, from its RowState or FoldedRows. `staging` is the shared memory of
// the warp's rows of Q, which no other warp uses. All lanes of the warp must call it.
template <class Output, class State>
__device__ inline void store_tile(const AttentionPrefillParameters& p, const TileOf<Shape>& tile,
                                  const State& state, SharedAddress staging, int first_row) {
  const int lane = threadIdx.x % 32;
  const int first_byte = tile.column_part * Shape::kColumnsV * static_cast<int>(sizeof(Output));
  const PackedRows rows = tile.rows(p);
  if (!rows.holds(first_row)) return;
  __syncwarp();  // all lanes have read Q
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int of_warp = lane / 4 + 8 * half;
    const bool is_there = rows.holds(first_row + of_warp);
    const OutputRow row =
        output_row(rows, tile.sequence, tile.head_kv, is_there ? first_row + of_warp : first_row);
    const auto finished = finished_row(p, tile, row.head, state, half);
    if (is_there && tile.column_part == 0) store_lse(p, row, finished.lse);
    if constexpr (Shape::kConvertsKv) {
      // Even columns of 16 are in one tile and odd columns in the next: a lane has 4 adjacent ones.
      const GlobalAddress target = row.address<Output>(p) + first_byte + lane % 4 * 4 * int{sizeof(Output)};
#pragma unroll
      for (int column = 0; column < Shape::kColumnsV / 8; column += 2) {
        const float* const even = state.output[column].r + 2 * half;
        const float* const odd = state.output[column + 1].r + 2 * half;
        const float values[4] = {finished.normalised(even[0]), finished.normalised(odd[0]),
                                 finished.normalised(even[1]), finished.normalised(odd[1])};
        // The output may have only the first 8 of the last 16 columns.
        const bool has_columns =
            Shape::kColumnsV % 16 == 0 || column + 2 <= Shape::kColumnsV / 8 || lane % 4 < 2;
        if (is_there && has_columns)
          store_elements<Output>(target + column * 8 * int{sizeof(Output)}, values);
      }
    } else if constexpr (sizeof(Output) != 2) {
      constexpr int kPairBytes = 2 * int{sizeof(Output)};
      const GlobalAddress target = row.address<Output>(p) + first_byte + lane % 4 * kPairBytes;
#pragma unroll
      for (int column = 0; column < Shape::kColumnsV / 8; ++column) {
        const float* const values = state.output[column].r + 2 * half;
        if (is_there)
          store_two_elements<Output>(target + column * 4 * kPairBytes, finished.normalised(values[0]),
                                     finished.normalised(values[1]));
      }
    } else {
#pragma unroll
      for (int column = 0; column < Shape::kColumnsV / 8; ++column) {
        const float* const values = state.output[column].r + 2 * half;
        store_shared_4(staging + swizzled<Shape::kRowBytesV>(of_warp, column) + lane % 4 * 4,
                       pack2<Output>(finished.normalised(values[0]), finished.normalised(values[1])));
      }
    }
  }
  if constexpr (!Shape::kConvertsKv && sizeof(Output) == 2) {
    constexpr int kChunks = Shape::kColumnsV / 8;
    constexpr int kRowThreads = power_of_two(2 * kChunks - 1);
    __syncwarp();
#pragma unroll
    for (int first = 0; first < Shape::kWarpRows; first += 32 / kRowThreads) {
      const int of_warp = first + lane / kRowThreads;
      if (!rows.holds(first_row + of_warp)) break;
      const OutputRow row = output_row(rows, tile.sequence, tile.head_kv, first_row + of_warp);
      const int chunk = lane % kRowThreads;
      if (chunk < kChunks)
        store_global_16(row.address<Output>(p) + first_byte + chunk * 16,
                        load_shared_16(staging + swizzled<Shape::kRowBytesV>(of_warp, chunk)));
    }
  }
}

}  // namespace cubinet::attention_prefill
