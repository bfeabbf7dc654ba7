// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fold of the segments of a tile that several CTAs share, with invariant numerics
// (docs/arithmetic.md). Segments are folded in ascending order, so any CTA may do it: the last one
// to finish the tile, or the template attention_combine.
//
// Shape: Output, kHasHeadScales, kHeadDimV, kTileQ
//        kThreads   threads of a CTA
#include <cubinet/attention/store_tile.cuh>

namespace cubinet::attention {

// Loads adjacent floats.
template <int kElements>
__device__ inline void load_floats(float (&values)[kElements], GlobalAddress source) {
  if constexpr (kElements % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kElements; i += 4)
      Vector16<fp32>::unpack(load_global_16(source + 4 * i), values + i);
  } else if constexpr (kElements == 2) {
    const uint2 both = load_global_8(source);
    values[0] = __uint_as_float(both.x);
    values[1] = __uint_as_float(both.y);
  } else {
    static_assert(kElements == 1, "one, two or a multiple of four");
    values[0] = load_global_float(source);
  }
}

// The folded segments of `kElements` elements of a row.
template <int kElements>
struct FoldedRowPart {
  RowFold fold;
  float values[kElements] = {};

  // Folds all partial results of a tile.
  template <class Shape>
  __device__ void add(const PartialRowsOf<Shape>& partial, const PartialSlotsOf<Shape>& slots,
                      const RowPart& part) {
    constexpr int kAtOnce = 8;  // segments whose loads are in flight
#pragma unroll 1
    for (int first = 0; first < slots.count; first += kAtOnce) {
      float2 extremes[kAtOnce];
      float elements[kAtOnce][kElements];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const bool valid = first + k < slots.count;
        const int slot = slots.slot(minimum(first + k, slots.count - 1));
        const uint2 stored = load_global_8(partial.lse(slot, part.row));
        extremes[k] =
            make_float2(valid ? __uint_as_float(stored.x) : negative_infinity(), __uint_as_float(stored.y));
        load_floats(elements[k], partial.output(slot, part));
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const FoldFactors factors = fold.add(extremes[k].x, extremes[k].y);
#pragma unroll
        for (int i = 0; i < kElements; ++i)
          values[i] = factors.apply(values[i], extremes[k].x == negative_infinity() ? 0.0f : elements[k][i]);
      }
    }
  }
};

// Folds the segments of a shared tile and writes its rows if the segments of all its items are
// stored, unless the template attention_combine follows. All threads of the CTA must call it after
// they have stored the segments of the item.
template <class Shape>
__device__ inline void fold_shared_tile(const AttentionDecodeParameters& p, const PackedRows& rows,
                                        const WorkDivisionOf<Shape>& division, const WorkItem& item,
                                        int head_kv) {
  using Output = typename Shape::Output;
  // A pass folds 8 rows.
  constexpr int kElements = minimum(maximum(8 * Shape::kHeadDimV / Shape::kThreads, 4), 8);
  constexpr int kParts = Shape::kHeadDimV / kElements;  // of a row
  if (item.is_whole_tile() || p.counters == 0) return;
  const int share = division.share();
  const int items = (item.tile_end - 1) / share - item.tile_begin / share + 1;
  if (!is_last_of_tile(p, item, head_kv, items)) return;
  const PartialSlotsOf<Shape> slots(p, item, share);
  const PartialRowsOf<Shape> partial(p, head_kv);
#pragma unroll 1
  for (int index = threadIdx.x; index < Shape::kTileQ * kParts; index += Shape::kThreads) {
    const RowPart part{index / kParts, index % kParts * kElements, rows.holds(index / kParts)};
    if (!part.is_there) return;
    FoldedRowPart<kElements> folded;
    folded.add(partial, slots, part);
    const OutputRow target = output_row(rows, item.sequence, head_kv, part.row);
    const float scale = v_scale<Shape::kHasHeadScales>(p, item.sequence.index, head_kv);
    const FinishedRow finished(RowEpilogue<false>(p, target.head, scale), folded.fold);
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      folded.values[i] = finished.normalised(folded.values[i]);
    store_elements<Output>(target.address<Output>(p) + part.first * sizeof(Output), folded.values);
    if (part.first == 0 && p.lse != 0) store_global_float(p.lse + 4 * target.index(p), finished.lse);
  }
}

}  // namespace cubinet::attention
