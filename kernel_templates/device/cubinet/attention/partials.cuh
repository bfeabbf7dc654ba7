// SPDX-License-Identifier: Apache-2.0
#pragma once
// The partial results of tiles that several CTAs share (split-KV), and how they are combined.
//
// Shape: kClusterSize, kHeadDimV, kInvariant
#include <cubinet/attention/output.cuh>
#include <cubinet/attention/work_division.cuh>

namespace cubinet::attention {

// The slots of the partial results of one shared tile, in the order of its work items.
template <class Shape>
struct PartialSlotsOf {
  int count = 0;
  int first = 0;
  int step = 0;      // between the slots after the first
  int previous = 0;  // slot `index` is previous + step * index, from index 1 on
  int rank = 0;

  PartialSlotsOf() = default;
  // `share` is the number of units of a CTA.
  __device__ PartialSlotsOf(const AttentionDecodeParameters& p, const WorkItem& tile, int share)
      : rank(tile.q_tile % Shape::kClusterSize) {
    if constexpr (Shape::kInvariant) {
      // The CTA that begins the tile has folded its segments.
      const int folded = minimum((tile.tile_begin / share + 1) * share, tile.tile_end) - tile.tile_begin;
      count = tile.tile_end - tile.tile_begin - folded + 1;
      first = tile.tile_begin;
      previous = first + folded - 1;
      step = 1;
      return;
    }
    if (p.split_is_unit != 0) {
      count = tile.tile_end - tile.tile_begin;
      first = previous = tile.tile_begin;
      step = 1;
      return;
    }
    const int first_block = tile.tile_begin / share;
    count = (tile.tile_end - 1) / share - first_block + 1;
    previous = 2 * first_block;
    first = previous + (tile.tile_begin == first_block * share ? 0 : 1);
    step = 2;
  }

  __device__ int slot(int index) const {
    return (index == 0 ? first : previous + step * index) * Shape::kClusterSize + rank;
  }
};

// The addresses of the partial results of one KV head.
template <class Shape>
class PartialRowsOf {
 public:
  __device__ PartialRowsOf(const AttentionDecodeParameters& p, int head_kv)
      : lse_(p.partial_lse),
        output_(p.partial_o),
        first_(static_cast<long long>(head_kv) * p.partial_rows),
        slot_rows_(p.heads_kv.divisor * p.partial_rows) {}

  // Returns the address of a row's LSE or, with invariant numerics, of its maximum and its sum.
  __device__ GlobalAddress lse(int slot, int row) const {
    return lse_ + (Shape::kInvariant ? 8 : 4) * index(slot, row);
  }
  __device__ GlobalAddress output(int slot, const RowPart& part) const {
    return output_ + 4 * (Shape::kHeadDimV * index(slot, part.row) + part.first);
  }

 private:
  __device__ long long index(int slot, int row) const {
    return first_ + row + static_cast<long long>(slot) * slot_rows_;
  }

  GlobalAddress lse_;
  GlobalAddress output_;
  long long first_;
  int slot_rows_;
};

// The running softmax over the partial results of a row, for `kElements` of its elements.
template <int kElements>
struct PartialSum {
  float values[kElements] = {};
  float highest = negative_infinity();
  float total = 0.0f;

  // Adds `kCount` partial results with the base-2 LSEs `lse`.
  template <int kCount>
  __device__ void add(const float (&lse)[kCount], const uint4 (&parts)[kCount][kElements / 4]) {
    float newest = highest;
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      newest = fmaxf(newest, lse[k]);
    const float offset = newest == negative_infinity() ? 0.0f : newest;
    const float correction = exp2_approx(highest - offset);
    highest = newest;
    total *= correction;
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      values[i] *= correction;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float weight = exp2_approx(lse[k] - offset);
      total += weight;
#pragma unroll
      for (int i = 0; i < kElements; i += 4) {
        float part[4];
        Vector16<fp32>::unpack(parts[k][i / 4], part);
#pragma unroll
        for (int j = 0; j < 4; ++j)
          values[i + j] = fmaf(weight, part[j], values[i + j]);
      }
    }
  }

  // Normalises the values. Returns the base-2 LSE of the row.
  __device__ float normalise() {
    const float scale = total != 0.0f ? reciprocal_approx(total) : 0.0f;
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      values[i] *= scale;
    return total != 0.0f ? highest + log2_approx(total) : negative_infinity();
  }
};

// Adds every `step`-th partial result of some rows, starting at number `begin`. Several loads are
// in flight at once.
template <class Shape, int kElements, int kRows>
__device__ inline void add_partials(PartialSum<kElements> (&sums)[kRows], const RowPart (&parts)[kRows],
                                    const PartialRowsOf<Shape>& partial, const PartialSlotsOf<Shape>& slots,
                                    int begin, int step) {
  constexpr int kAtOnce = 4;
#pragma unroll 1
  for (int first = begin; first < slots.count; first += kAtOnce * step) {
    float lse[kRows][kAtOnce];
    uint4 elements[kRows][kAtOnce][kElements / 4];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int item = first + k * step;
        const int slot = slots.slot(item);
        const bool valid = parts[r].is_there && item < slots.count;
        lse[r][k] = load_global_float_if(valid, partial.lse(slot, parts[r].row), negative_infinity());
#pragma unroll
        for (int i = 0; i < kElements / 4; ++i)
          elements[r][k][i] = load_global_16_or_zero(partial.output(slot, parts[r]) + 16 * i, valid);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      sums[r].add(lse[r], elements[r]);
  }
}

}  // namespace cubinet::attention
