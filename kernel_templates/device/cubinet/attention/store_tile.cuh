// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the rows of a work item, and combines the partial results of a shared tile in the order of
// its work items. The last CTA to finish the tile combines them, unless the template
// attention_combine follows.
//
// Shape: Output, kConvertsKv, kHasHeadScales, kHeadDimV, kTileQ, kClusterSize
//        kThreads   threads of a CTA
#include <cubinet/attention/partials.cuh>

namespace cubinet::attention {

// The row parts that a thread processes at once, and their results.
template <int kRows>
struct RowResults {
  RowPart parts[kRows];
  PartialSum<8> sums[kRows];
  float lse[kRows];
};

// A source of rows: the combined partial results of a shared tile.
template <class Shape>
struct CombinedRows {
  const PartialRowsOf<Shape>& partial;
  const PartialSlotsOf<Shape>& slots;

  template <int kRows>
  __device__ void load(RowResults<kRows>& results) const {
    add_partials(results.sums, results.parts, partial, slots, 0, 1);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      results.lse[r] = results.sums[r].normalise();
  }
};

// A source of rows: the rows of a work item or, if `combines` is true, the combined rows. The
// second pass runs the same code.
template <class Shape, class Merge>
struct ItemRows {
  const Merge& merge;
  CombinedRows<Shape> combined;
  bool combines;

  template <int kRows>
  __device__ void load(RowResults<kRows>& results) const {
    if (combines) {
      combined.load(results);
    } else {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        results.lse[r] = merge.load(results.sums[r].values, results.parts[r].row, results.parts[r].first);
    }
  }
};

// Writes the rows of a tile to the output, or as partial results to slot `slot` if that is not
// negative. `kOfBlock` of the CTA's threads must call it; `thread` is the index of this thread
// among them.
template <int kOfBlock, class Shape, class Source>
__device__ inline void store_rows(const AttentionDecodeParameters& p, const PackedRows& rows,
                                  const Sequence& sequence, const PartialRowsOf<Shape>& partial, int head_kv,
                                  int slot, int thread, const Source& source) {
  using RowParts = RowPartsOf<Shape>;
  using Output = typename Shape::Output;
  constexpr int kAtOnce = RowParts::at_once(kOfBlock);
  // The loop is not unrolled further: the divisions would become a large part of the kernel's code
  // and compile time.
#pragma unroll 1
  for (int begin = thread; begin < RowParts::kAll; begin += kAtOnce * kOfBlock) {
    RowResults<kAtOnce> results;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      results.parts[k] = RowParts::part(rows, begin + k * kOfBlock);
    source.load(results);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const RowPart& part = results.parts[k];
      if (!part.is_there) break;
      if (slot < 0) {
        const OutputRow target = output_row(rows, sequence, head_kv, part.row);
        const float scale = v_scale<Shape::kHasHeadScales>(p, sequence.index, head_kv);
        store_output<Output>(p, target, part.first, results.sums[k].values,
                             RowEpilogue<Shape::kConvertsKv>(p, target.head, scale), results.lse[k]);
      } else {
        store_elements<fp32>(partial.output(slot, part), results.sums[k].values);
        if (part.first == 0) store_global_float(partial.lse(slot, part.row), results.lse[k]);
      }
    }
  }
}

// Returns whether all partial results of a tile are stored. All threads of the CTA must call it
// after they have stored the partial result of this CTA.
__device__ inline bool is_last_of_tile(const AttentionDecodeParameters& p, const WorkItem& item, int head_kv,
                                       int count) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    const long long tile = static_cast<long long>(item.sequence.index) * p.q_tiles + item.q_tile;
    const GlobalAddress counter = p.counters + 4 * (tile * p.heads_kv.divisor + head_kv);
    last = add_global(counter, 1) == count - 1;
    if (last) store_global_int(counter, 0);
  }
  return __syncthreads_or(last) != 0;
}

// Writes the rows of a work item, which `merge` loads, to the output or, if CTAs share the tile, to
// the slot of this CTA. The last CTA to finish a shared tile then combines the partial results. All
// threads of the CTA must call it.
template <class Shape, class Merge>
__device__ inline void store_work_item(const AttentionDecodeParameters& p, const Merge& merge,
                                       const PackedRows& rows, const WorkDivisionOf<Shape>& division,
                                       const WorkItem& item, int head_kv) {
  const bool is_whole = item.is_whole_tile();
  const PartialRowsOf<Shape> partial(p, head_kv);
  PartialSlotsOf<Shape> slots;
#pragma unroll 1
  for (bool combines = false;; combines = true) {
    const int slot = is_whole || combines ? -1 : division.slot(p, item);
    store_rows<Shape::kThreads>(p, rows, item.sequence, partial, head_kv, slot, threadIdx.x,
                                ItemRows<Shape, Merge>{merge, {partial, slots}, combines});
    if (is_whole || combines || p.counters == 0) return;
    slots = PartialSlotsOf<Shape>(p, item, division.share());
    if (!is_last_of_tile(p, item, head_kv, slots.count)) return;
  }
}

}  // namespace cubinet::attention
