// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of Q and the KV tokens of a work item, for Hopper's kernels of latent attention (one KV
// head, no window).
//
// Shape: Q, kTileQ, kClusterSize, kSlice, kCausal, kSlidingWindow
#include <cubinet/attention/work_division.cuh>

namespace cubinet::attention {

// Returns the address of a row of Q, or of the last row for rows after it.
template <typename Q>
__device__ inline GlobalAddress q_row(const AttentionDecodeParameters& p, const Sequence& sequence,
                                      const PackedRows& rows, int row) {
  const int packed = minimum(rows.first + row, rows.count - 1);
  const int token = rows.group.quotient(packed);
  const int head = packed - token * rows.group.divisor;
  return p.q + sizeof(Q) * (sequence.first_element(p, p.q_batch_stride, p.q_token_stride) +
                            token * p.q_token_stride + head * p.q_head_stride);
}

// The KV tokens of a work item that the rows of its tile read, or in a cluster that the rows of any
// of its tiles read.
template <class Shape>
struct ItemTokensOf {
  int begin;
  int end;

  __device__ ItemTokensOf(const AttentionDecodeParameters& p, const WorkItem& item, const PackedRows& rows)
      : begin((item.begin - item.tile_begin) * p.unit.divisor),
        end(minimum((item.end - item.tile_begin) * p.unit.divisor,
                    VisibleOf<Shape>::to_token(p, item.sequence, rows.token(rows_to_last(item))).end)) {}

  // Returns the number of rows from the first row of the tile to the last row of the cluster's
  // tiles, minus 1.
  __device__ static int rows_to_last(const WorkItem& item) {
    return (Shape::kClusterSize - item.q_tile % Shape::kClusterSize) * Shape::kTileQ - 1;
  }

  // Returns the number of slices. The result is uniform over a warpgroup, which the compiler must
  // know: otherwise the threads would wait for each other at every product.
  __device__ int steps() const {
    return __shfl_sync(kAllLanes, divide_up(maximum(end - begin, 0), Shape::kSlice), 0);
  }
};

}  // namespace cubinet::attention
