// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the output of `attention_latent`.
#include <cubinet/attention/store_tile.cuh>
#include <cubinet/attention/tile_stores.cuh>
#include <cubinet/attention_latent/layout.cuh>
#include <cubinet/mma.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_latent {

using Epilogue = RowEpilogue<kConvertsKv>;
using PartialSlots = PartialSlotsOf<Shape>;

// Half of the output's columns, as a thread holds them: two rows, eight apart.
constexpr int kOutputTiles = kColumns / 8;
using Output = FragmentD[kOutputTiles];

// The factors that normalise the sums of a thread's two rows, and the base-2 LSEs of the rows.
struct RowEnds {
  float factor[2];
  float lse[2];
};

// The position of a thread in the tile: its first row, and the first column of its warpgroup.
struct OutputPlace {
  int first_row;
  int first_column;

  // Returns whether the thread stores the LSEs of its rows.
  __device__ bool has_lse() const { return first_column == 0 && (threadIdx.x & 3) == 0; }
};

// Returns an element of one of the thread's rows times `factor`. Code that runs once for each work
// item is shared by both rows: unrolled, it would be a third of the kernel's code and compile time.
__device__ inline float element_of(const Output& output, int half, int tile, int k, float factor) {
  return __fmul_rn(half == 0 ? output[tile].r[k] : output[tile].r[2 + k], factor);
}

// Stores a row of four adjacent tiles from `target` on. All lanes of the warp must call it.
template <typename Element>
__device__ inline void store_tiles(GlobalAddress target, const float (&values)[4][2], bool exists) {
  const int lane = static_cast<int>(threadIdx.x & 3);
  // Tiles of fewer rows lack the registers to exchange elements.
  if constexpr (tile_size_q == kProductRows) {
    store_four_tiles<Element>(lane, target, values, exists);
  } else if (exists) {
#pragma unroll
    for (int tile = 0; tile < 4; ++tile)
      store_two_elements<Element>(target + (tile * 8 + lane * 2) * int{sizeof(Element)}, values[tile][0],
                                  values[tile][1]);
  }
}

// Stores the warpgroup's columns of a row, from `target` on. All lanes of the warp must call it.
template <typename Element>
__device__ inline void store_row(const Output& output, int half, GlobalAddress target, float factor,
                                 bool exists) {
#pragma unroll
  for (int first = 0; first < kOutputTiles; first += 4) {
    float values[4][2];
#pragma unroll
    for (int tile = 0; tile < 4; ++tile) {
#pragma unroll
      for (int k = 0; k < 2; ++k)
        values[tile][k] = element_of(output, half, first + tile, k, factor);
    }
    store_tiles<Element>(target + first * 8 * sizeof(Element), values, exists);
  }
}

// Stores the rows of a work item to the output or, if CTAs share the tile, to the slot of this CTA.
__device__ inline void store(const AttentionDecodeParameters& p, const WorkDivision& division,
                             const WorkItem& item, const PackedRows& rows, const Output& output,
                             const RowEnds& ends, const OutputPlace& place) {
  const int column = place.first_column;
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    const int row = place.first_row + 8 * half;
    const bool exists = rows.holds(row);
    float factor = half == 0 ? ends.factor[0] : ends.factor[1];
    float lse = half == 0 ? ends.lse[0] : ends.lse[1];
    GlobalAddress target;
    GlobalAddress target_lse;
    if (item.is_whole_tile()) {
      const OutputRow of_row = output_row(rows, item.sequence, 0, exists ? row : 0);
      Epilogue epilogue(p, of_row.head, v_scale<Shape::kHasHeadScales>(p, item.sequence.index, 0));
      lse = epilogue.add_sink(lse) * kLn2;
      factor *= epilogue.factor;
      target = of_row.address<dtype_o>(p) + column * sizeof(dtype_o);
      target_lse = p.lse != 0 ? p.lse + 4 * of_row.index(p) : 0;
    } else {
      const long long partial = static_cast<long long>(division.slot(p, item)) * p.partial_rows + row;
      target = p.partial_o + 4 * (partial * head_dim_v + column);
      target_lse = p.partial_lse + 4 * partial;
    }
    if (item.is_whole_tile()) {
      store_row<dtype_o>(output, half, target, factor, exists);
    } else {
      store_row<fp32>(output, half, target, factor, exists);
    }
    if (exists && place.has_lse() && target_lse != 0) store_global_float(target_lse, lse);
  }
}

// Stores the output of a tile that two CTAs share. The last CTA to finish calls it, with its own
// part in registers. Each part is rounded before the addition, so the result does not depend on
// which CTA is last.
__device__ inline void combine_two(const AttentionDecodeParameters& p, const PartialSlots& slots,
                                   int own_slot, const WorkItem& item, const PackedRows& rows,
                                   const Output& output, const RowEnds& ends, const OutputPlace& place) {
  if (place.first_row >= tile_size_q) return;
  const int other_slot = slots.slot(own_slot == slots.slot(0) ? 1 : 0);
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    const int row = place.first_row + 8 * half;
    const bool exists = rows.holds(row);
    const long long partial = static_cast<long long>(other_slot) * p.partial_rows + row;
    const float own_lse = half == 0 ? ends.lse[0] : ends.lse[1];
    const float other_lse = exists ? load_global_float(p.partial_lse + 4 * partial) : negative_infinity();
    const float highest = fmaxf(own_lse, other_lse);
    const float offset = highest == negative_infinity() ? 0.0f : highest;
    const float own_weight = exp2_approx(own_lse - offset);
    const float other_weight = exp2_approx(other_lse - offset);
    const float total = own_weight + other_weight;
    const OutputRow target = output_row(rows, item.sequence, 0, exists ? row : 0);
    Epilogue epilogue(p, target.head, v_scale<Shape::kHasHeadScales>(p, item.sequence.index, 0));
    const float lse = epilogue.add_sink(total != 0.0f ? highest + log2_approx(total) : negative_infinity());
    const float factor = (total != 0.0f ? reciprocal_approx(total) : 0.0f) * epilogue.factor;
    const float own_factor = half == 0 ? ends.factor[0] : ends.factor[1];
    const GlobalAddress source =
        p.partial_o + 4 * (partial * head_dim_v + place.first_column) + 8 * (threadIdx.x & 3);
    const GlobalAddress address = target.address<dtype_o>(p) + place.first_column * sizeof(dtype_o);
    constexpr int kAtOnce = kConvertsKv ? 4 : 8;
#pragma unroll
    for (int first = 0; first < kOutputTiles; first += kAtOnce) {
      uint2 others[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        others[i] = exists ? load_global_8(source + (first + i) * 8 * sizeof(float)) : make_uint2(0, 0);
#pragma unroll
      for (int of_four = 0; of_four < kAtOnce; of_four += 4) {
        float values[4][2];
#pragma unroll
        for (int tile = 0; tile < 4; ++tile) {
          const int i = of_four + tile;
#pragma unroll
          for (int k = 0; k < 2; ++k) {
            const float other = __uint_as_float(k == 0 ? others[i].x : others[i].y);
            const float own = element_of(output, half, first + i, k, own_factor);
            values[tile][k] = __fadd_rn(__fmul_rn(own_weight, own), __fmul_rn(other_weight, other)) * factor;
          }
        }
        store_tiles<dtype_o>(address + (first + of_four) * 8 * sizeof(dtype_o), values, exists);
      }
    }
    if (exists && place.has_lse() && p.lse != 0) store_global_float(p.lse + 4 * target.index(p), lse * kLn2);
  }
}

// Combines the partial results of a shared tile if this CTA is the last to finish it. Both
// consumers must call it.
__device__ inline void combine_if_last(const AttentionDecodeParameters& p, const ExchangeLayout& layout,
                                       const WorkDivision& division, const WorkItem& item,
                                       const PackedRows& rows, const Output& output, const RowEnds& ends,
                                       const OutputPlace& place) {
  constexpr int kConsumerThreads = Shape::kThreads - kWarpgroup;
  const PartialSlots slots(p, item, division.share());
  const int thread = threadIdx.x - kWarpgroup;
  synchronize_warps(1, kConsumerThreads);
  if (thread == 0) {
    const GlobalAddress counter =
        p.counters + 4 * (static_cast<long long>(item.sequence.index) * p.q_tiles + item.q_tile);
    const bool last = add_global(counter, 1) == slots.count - 1;
    if (last) store_global_int(counter, 0);
    store_shared_4(layout.is_last(), last ? 1 : 0);
  }
  synchronize_warps(1, kConsumerThreads);
  if (load_shared_4(layout.is_last()) == 0) return;
  if (slots.count == 2) {
    combine_two(p, slots, division.slot(p, item), item, rows, output, ends, place);
    return;
  }
  const PartialRowsOf<Shape> partial(p, 0);
  store_rows<kConsumerThreads>(p, rows, item.sequence, partial, 0, -1, thread,
                               CombinedRows<Shape>{partial, slots});
}

}  // namespace cubinet::attention_latent
