// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies steps of paged K or V to shared memory with cp.async. All threads of a CTA copy a step
// together. A thread looks up the page of each of its rows.
//
// Shape: kElementBytes, kPageSize
//        kThreads   threads of a CTA
//        kStep      tokens of a step
#include <cubinet/async_copy.cuh>
#include <cubinet/math.cuh>
#include <cubinet/paged/page_table.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::paged {

// The rows of a step that a thread copies. At least 8 adjacent threads share a row, so they copy
// 128 bytes or more of it at a time.
template <class Shape>
struct RowShareOf {
  static constexpr int kRowThreads = maximum(Shape::kThreads / Shape::kStep, 8);
  static constexpr int kRowsAtOnce = Shape::kThreads / kRowThreads;
  static constexpr int kRows = Shape::kStep / kRowsAtOnce;  // rows of a thread
};

// The physical pages of a thread's rows of a step.
template <class Shape>
struct RowPagesOf {
  using Share = RowShareOf<Shape>;

  int page[Share::kRows];

  // Looks up the pages of the step that starts at `token`. Rows outside `range` get page 0.
  template <class Range>
  __device__ static RowPagesOf look_up(GlobalAddress entries, int token, const Range& range) {
    RowPagesOf pages;
#pragma unroll
    for (int i = 0; i < Share::kRows; ++i) {
      const int own = token + static_cast<int>(threadIdx.x) / Share::kRowThreads + i * Share::kRowsAtOnce;
      pages.page[i] =
          own < range.end && own >= range.begin
              ? load_global_constant_int(entries + 4ull * static_cast<unsigned>(own / Shape::kPageSize))
              : 0;
    }
    return pages;
  }
};

// Copies this thread's part of the rows of K or V.
template <class Shape, int kRowBytes>
class RowCopyOf {
 public:
  __device__ RowCopyOf(GlobalAddress base, PageStrides strides, int head)
      : base_(base + Shape::kElementBytes * (head * strides.head) + threadIdx.x % kRowThreads * 16),
        page_stride_(strides.page * Shape::kElementBytes),
        token_stride_(strides.token * Shape::kElementBytes) {}

  // Copies the step that starts at `token`. Tokens outside `range` become zeros and are not read:
  // unused pages and the rest of a page may hold anything, and NaN in V would make 0 * NaN = NaN in
  // P V.
  template <class Range>
  __device__ void copy(SharedAddress step, int token, const RowPagesOf<Shape>& pages,
                       const Range& range) const {
#pragma unroll
    for (int i = 0; i < RowShareOf<Shape>::kRows; ++i) {
      const int row = threadIdx.x / kRowThreads + i * RowShareOf<Shape>::kRowsAtOnce;
      const int own = token + row;
      const bool valid = own < range.end && own >= range.begin;
      const GlobalAddress source = base_ + static_cast<long long>(pages.page[i]) * page_stride_ +
                                   static_cast<long long>(own & (Shape::kPageSize - 1)) * token_stride_;
      const SharedAddress target = step + swizzled<kRowBytes>(row, threadIdx.x % kRowThreads);
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        if ((part + 1) * kRowThreads <= kChunks ||
            static_cast<int>(threadIdx.x) % kRowThreads < kChunks % kRowThreads)
          async_copy_16_or_zero(target + part * (kRowThreads * 16), source + part * (kRowThreads * 16),
                                valid);
      }
    }
  }

 private:
  static constexpr int kRowThreads = RowShareOf<Shape>::kRowThreads;
  static constexpr int kChunks = kRowBytes / 16;
  static constexpr int kParts = divide_up(kChunks, kRowThreads);

  GlobalAddress base_;
  long long page_stride_;
  long long token_stride_;
};

}  // namespace cubinet::paged
