// SPDX-License-Identifier: Apache-2.0
#pragma once
// What Hopper's kernels of latent attention read of a piece: its steps of KV, its rows of Q.
#include <cubinet/attention_decode_division.cuh>

namespace cubinet::attention {

// Where a row of Q lies; behind the last it is the last.
__device__ inline GlobalAddress q_row(const AttentionDecodeParameters& p, const Sequence& sequence,
                                      const PackedRows& rows, int row) {
  const int packed = minimum(rows.first + row, rows.count - 1);
  const int token = rows.group.quotient(packed);
  const int head = packed - token * rows.group.divisor;
  return p.q + sizeof(dtype_q) * (sequence.first_element(p, p.q_batch_stride, p.q_token_stride) +
                                  token * p.q_token_stride + head * p.q_head_stride);
}

// The steps of a piece that its tile's rows read, or those of any of the cluster's tiles.
struct PieceTokens {
  int begin;
  int end;

  __device__ PieceTokens(const AttentionDecodeParameters& p, const Piece& piece, const PackedRows& rows)
      : begin((piece.begin - piece.tile_begin) * p.unit.divisor),
        end(minimum((piece.end - piece.tile_begin) * p.unit.divisor,
                    visible_to(p, piece.sequence, rows.token(rows_to_last(piece))).end)) {}

  // From the tile's first row to the last of the cluster's tiles.
  __device__ static int rows_to_last(const Piece& piece) {
    return (kClusterSize - piece.q_tile % kClusterSize) * tile_size_q - 1;
  }

  // The same in all threads of a warpgroup, which only then need not wait for each other at every product.
  __device__ int steps() const {
    return __shfl_sync(kAllLanes, divide_up(maximum(end - begin, 0), kSlice), 0);
  }
};

}  // namespace cubinet::attention
