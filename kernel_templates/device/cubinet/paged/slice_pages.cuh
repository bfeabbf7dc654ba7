// SPDX-License-Identifier: Apache-2.0
#pragma once
// Page look-ups of slices. A slice is consecutive tokens that a group of warps processes together.
//
// Shape: kSlice        tokens of a slice; slices start at multiples of it, so each is contained in
//                      one page or starts at the beginning of its first page
//        kPageSize, kSeparatePageTables, kSlidingWindow
//        kWarpsKv      groups of warps, which process the slices of a work item in turn
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/paged/page_table.cuh>

namespace cubinet::paged {

// The physical pages of one slice: those of K (or of K and V), then those of V if it has its own
// page table.
template <class Shape>
struct SlicePagesOf {
  static constexpr int kTables = Shape::kSeparatePageTables ? 2 : 1;
  static constexpr int kPages = maximum(Shape::kSlice / Shape::kPageSize, 1);
  static_assert(Shape::kPageSize % Shape::kSlice == 0 || Shape::kSlice % Shape::kPageSize == 0,
                "a slice consists of whole pages or is inside one");

  int page[kTables][kPages];

  // Returns the pages that `lane` holds. All lanes of the warp must call it together.
  __device__ SlicePagesOf of_lane(int lane) const {
    SlicePagesOf other;
#pragma unroll
    for (int table = 0; table < kTables; ++table) {
#pragma unroll
      for (int i = 0; i < kPages; ++i)
        other.page[table][i] = __shfl_sync(kAllLanes, page[table][i], lane);
    }
    return other;
  }
};

// The slices of one group of warps: every kWarpsKv-th slice of a range of tokens.
template <class Shape>
class SliceWalkOf {
 public:
  using Range = TokenRange<Shape::kSlidingWindow>;
  using SlicePages = SlicePagesOf<Shape>;

  __device__ SliceWalkOf(const PageTable& table, const Range& range, int group_kv)
      : table_(table.entries),
        v_table_offset_(table.v_offset),
        first_(range.begin + group_kv * Shape::kSlice),
        end_(range.end),
        count_(maximum(divide_up(range.end - first_, kStep), 0)),
        most_(maximum(divide_up(range.end - range.begin, kStep), 0)) {}

  __device__ int count() const { return count_; }
  // Returns the number of slices of the group that has the most: count(), or one more.
  __device__ int most() const { return most_; }
  __device__ int token(int index) const { return first_ + index * kStep; }

  // Returns the pages of a slice. Pages after the end of the range are 0.
  __device__ SlicePages pages(int index) const {
    SlicePages pages;
    const GlobalAddress entry = table_ + 4ull * static_cast<unsigned>(token(index) / Shape::kPageSize);
#pragma unroll
    for (int i = 0; i < SlicePages::kPages; ++i) {
      const bool valid = i == 0 ? index < count_ : token(index) + i * Shape::kPageSize < end_;
      pages.page[0][i] = valid ? load_global_constant_int(entry + 4 * i) : 0;
      if constexpr (Shape::kSeparatePageTables)
        pages.page[1][i] = valid ? load_global_constant_int(entry + v_table_offset_ + 4 * i) : 0;
    }
    return pages;
  }

 private:
  static constexpr int kStep = Shape::kSlice * Shape::kWarpsKv;

  GlobalAddress table_;
  long long v_table_offset_;
  int first_;
  int end_;
  int count_;
  int most_;
};

}  // namespace cubinet::paged
