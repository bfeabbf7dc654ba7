// SPDX-License-Identifier: Apache-2.0
#pragma once
// The segments of a work item of decode attention, with invariant numerics (docs/arithmetic.md).
//
// Shape: Output, kHeadDimV
//        kTilesV   tiles of 8 columns of the output that a warp accumulates
#include <cubinet/attention/folded_rows.cuh>
#include <cubinet/attention/partials.cuh>

namespace cubinet::attention {

// The segments of a work item of decode attention. A unit of work is a segment. The first segments
// of a tile are folded if the item begins with them. Every other segment is stored unnormalised in
// the slot of its unit, for attention_combine, because segments are folded in ascending order.
template <class Shape>
class ItemSegmentsOf {
 public:
  // `first_row` is the first row of this warp in the tile, and `part` its part of the columns.
  __device__ ItemSegmentsOf(const AttentionDecodeParameters& p, const PackedRows& rows, const WorkItem& item,
                            int head_kv, int first_row, int part)
      : p_(p),
        rows_(rows),
        item_(item),
        head_kv_(head_kv),
        first_row_(first_row),
        part_(part),
        unit_(item.begin) {}

  // Begins the segment that contains `token`. Segments before it have no visible token.
  __device__ void begin_segment(int token) {
    skip_to(item_.tile_begin + (token - item_.kv_begin) / kInvariantSegment);
  }

  // Ends a segment, and makes `state` that of an empty one. REQUIRES: no product with the output of
  // `state` is in flight.
  __device__ void end_segment(RowStateOf<Shape>& state) {
    if (is_first()) {
      folded_.add(state);
      return;
    }
    store_partial(unit_++, state.output, state.maximum[0], state.maximum[1], invariant_row_sum(state.sum[0]),
                  invariant_row_sum(state.sum[1]));
    state = {};
    state.maximum[0] = state.maximum[1] = negative_infinity();
  }

  // Stores the result of the item, whose segments have ended.
  __device__ void finish() {
    if (!is_first()) {
      skip_to(item_.end);
    } else if (item_.is_whole_tile()) {
      store_output_rows();
    } else {
      store_partial(item_.tile_begin, folded_.output, folded_.rows[0].maximum, folded_.rows[1].maximum,
                    folded_.rows[0].sum, folded_.rows[1].sum);
    }
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ bool is_first() const { return item_.begin == item_.tile_begin; }
  __device__ int row(int half) const { return first_row_ + lane() / 4 + 8 * half; }
  // Returns the first of the lane's columns of a tile of 8.
  __device__ int column(int tile) const { return (part_ * Shape::kTilesV + tile) * 8 + lane() % 4 * 2; }

  // Marks the segments before `unit` as empty.
  __device__ void skip_to(int unit) {
    if (is_first()) return;
    const PartialRowsOf<Shape> partial(p_, head_kv_);
#pragma unroll 1
    for (; unit_ < unit; ++unit_) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        store_extremes(partial, unit_, half, negative_infinity(), 0.0f);
    }
  }

  __device__ void store_extremes(const PartialRowsOf<Shape>& partial, int slot, int half, float maximum,
                                 float sum) const {
    if (part_ != 0 || lane() % 4 != 0 || !rows_.holds(row(half))) return;
    store_global_8(partial.lse(slot, row(half)), make_uint2(__float_as_uint(maximum), __float_as_uint(sum)));
  }

  __device__ void store_partial(int slot, const FragmentD (&output)[Shape::kTilesV], float maximum_0,
                                float maximum_1, float sum_0, float sum_1) const {
    const PartialRowsOf<Shape> partial(p_, head_kv_);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      store_extremes(partial, slot, half, half == 0 ? maximum_0 : maximum_1, half == 0 ? sum_0 : sum_1);
      if (!rows_.holds(row(half))) continue;
#pragma unroll
      for (int tile = 0; tile < Shape::kTilesV; ++tile) {
        const float* const values = output[tile].r + 2 * half;
        store_global_8(partial.output(slot, {row(half), column(tile), true}),
                       make_uint2(__float_as_uint(values[0]), __float_as_uint(values[1])));
      }
    }
  }

  __device__ void store_output_rows() {
    using Output = typename Shape::Output;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (!rows_.holds(row(half))) continue;
      const OutputRow target = output_row(rows_, item_.sequence, head_kv_, row(half));
      const float scale = v_scale<Shape::kHasHeadScales>(p_, item_.sequence.index, head_kv_);
      const FinishedRow finished(RowEpilogue<false>(p_, target.head, scale), folded_.rows[half]);
#pragma unroll
      for (int tile = 0; tile < Shape::kTilesV; ++tile) {
        const float* const values = folded_.output[tile].r + 2 * half;
        store_two_elements<Output>(target.address<Output>(p_) + column(tile) * sizeof(Output),
                                   finished.normalised(values[0]), finished.normalised(values[1]));
      }
      if (part_ == 0 && lane() % 4 == 0 && p_.lse != 0)
        store_global_float(p_.lse + 4 * target.index(p_), finished.lse);
    }
  }

  const AttentionDecodeParameters& p_;
  const PackedRows& rows_;
  const WorkItem& item_;
  int head_kv_;
  int first_row_;
  int part_;
  int unit_;  // the next segment to store
  FoldedRowsOf<Shape> folded_;
};

}  // namespace cubinet::attention
