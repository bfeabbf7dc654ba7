// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies slices of paged K or V to shared memory with cp.async.
//
// Shape: kElementBytes, kSlice, kPageSize, kSlidingWindow
//        kGroupThreads   threads that copy a slice together
#include <cubinet/async_copy.cuh>
#include <cubinet/paged/slice_pages.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::paged {

// Copies the slices of K or of V. `kTable` is the index of its page table in SlicePages. Holds this
// thread's part of the addresses.
template <class Shape, int kRowBytes, int kTable, class Layout = SwizzledRows<kRowBytes>>
class SliceCopyOf {
 public:
  using Range = TokenRange<Shape::kSlidingWindow>;
  using SlicePages = SlicePagesOf<Shape>;

  // `thread` is the index of the thread in its group, below kGroupThreads.
  __device__ SliceCopyOf(GlobalAddress base, PageStrides strides, int head, int thread)
      : base_(base + kElementBytes * (head * strides.head + thread / kChunks * strides.token) +
              thread % kChunks * 16),
        page_stride_(strides.page * kElementBytes),
        token_stride_(strides.token * kElementBytes),
        row_(thread / kChunks),
        target_(Layout::place(row_, thread % kChunks)) {}

  // Keeps the addresses in registers, for loops with few registers in which the compiler would
  // compute them again for every slice.
  __device__ void keep_in_registers() {
    keep_in_register(base_);
    keep_in_register(target_);
  }

  // Copies the slice that starts at `token`. Tokens outside `range` become zeros and are not read:
  // unused pages and the rest of a page may hold anything, and NaN in V would make 0 * NaN = NaN in
  // P V. `kAtOnce` copies are unrolled: all copies in the loop over KV, fewer if unrolling would
  // cost more compile time than it saves run time.
  template <int kAtOnce>
  __device__ void copy(SharedAddress slice, int token, const SlicePages& pages, const Range& range) const {
    if (Shape::kGroupThreads > kRowsPerIteration * kChunks && row_ >= kSlice) return;
    if constexpr (SlicePages::kPages > 1) {
      copy_pages(slice, token, pages, range);
    } else {
      copy_in_page<kAtOnce>(slice, token, pages.page[kTable][0], range);
    }
  }

 private:
  static constexpr int kElementBytes = Shape::kElementBytes;
  static constexpr int kSlice = Shape::kSlice;
  static constexpr int kPageSize = Shape::kPageSize;
  static constexpr int kChunks = kRowBytes / 16;
  static constexpr int kRowsPerIteration = minimum(Shape::kGroupThreads / kChunks, kSlice);
  static constexpr int kIterations = kSlice / kRowsPerIteration;
  static_assert(kRowsPerIteration * kChunks <= Shape::kGroupThreads &&
                    kIterations * kRowsPerIteration == kSlice,
                "the threads of a group divide a slice evenly, or some of them have no row");

  template <int kAtOnce>
  __device__ void copy_in_page(SharedAddress slice, int token, int page, const Range& range) const {
    GlobalAddress source =
        base_ + static_cast<unsigned>(page) * static_cast<unsigned long long>(page_stride_);
    // A slice of the size of a page starts at the beginning of a page.
    if constexpr (kPageSize > kSlice)
      source += static_cast<long long>(token & (kPageSize - 1)) * token_stride_;
    // The range relative to the thread's row, so the row of each copy is a constant.
    Range valid{range.begin - token - row_, range.end - token - row_};
    SharedAddress target = slice + target_;
    constexpr int kPart = minimum(kAtOnce, kIterations);
    constexpr int kPartRows = kPart * kRowsPerIteration;
    static_assert(kPart == kIterations || kPartRows % 4 == 0,
                  "one XOR turns the swizzle of a part into that of the next");
#pragma unroll 1
    for (int part = 0; part < kIterations / kPart; ++part) {
#pragma unroll
      for (int i = 0; i < kPart; ++i) {
        const int rows = i * kRowsPerIteration;
        async_copy_16_or_zero(moved(target, rows), source, valid.holds(rows));
        source += kRowsPerIteration * token_stride_;
      }
      target = moved(target, kPartRows);
      valid = {valid.begin - kPartRows, valid.end - kPartRows};
    }
  }

  // Copies a slice of several pages, which starts at the beginning of a page.
  __device__ void copy_pages(SharedAddress slice, int token, const SlicePages& pages,
                             const Range& range) const {
    const Range valid{range.begin - token - row_, range.end - token - row_};
#pragma unroll
    for (int i = 0; i < kIterations; ++i) {
      const int rows = i * kRowsPerIteration;
      const int part = rows / kPageSize + (kRowsPerIteration > kPageSize ? row_ / kPageSize : 0);
      int page = pages.page[kTable][0];
#pragma unroll
      for (int k = 1; k < SlicePages::kPages; ++k)
        page = part == k ? pages.page[kTable][k] : page;
      const GlobalAddress source = base_ + static_cast<long long>(page) * page_stride_ +
                                   static_cast<long long>(rows - part * kPageSize) * token_stride_;
      async_copy_16_or_zero(moved(slice + target_, rows), source, valid.holds(rows));
    }
  }

  // Returns the address of the same chunk `rows` rows further.
  __device__ static SharedAddress moved(SharedAddress address, int rows) {
    return advanced(address, swizzle_of<Layout::kStep>(rows)) + rows * Layout::kStep;
  }

  GlobalAddress base_;
  long long page_stride_;
  long long token_stride_;
  int row_;
  unsigned target_;
};

}  // namespace cubinet::paged
