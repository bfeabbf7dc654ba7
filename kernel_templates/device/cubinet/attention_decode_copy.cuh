// SPDX-License-Identifier: Apache-2.0
#pragma once
// How templates of decode attention copy slices of K and V into shared memory.
#include <cubinet/async_copy.cuh>
#include <cubinet/attention_decode_rows.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention {

__device__ inline void synchronize_group(int group_kv) {
  if constexpr (kWarpsQ == 1) {
    __syncwarp();
  } else {
    asm volatile("bar.sync %0, %1;" ::"r"(group_kv + 1), "n"(kGroupThreads) : "memory");
  }
}

// Where the tokens of a slice lie: by the table of K, or of both, then by that of V.
struct SlicePages {
  int page[kPageTables][kPagesOfSlice];
};

__device__ inline SlicePages of_lane(const SlicePages& pages, int lane) {
  SlicePages of_one;
#pragma unroll
  for (int table = 0; table < kPageTables; ++table) {
#pragma unroll
    for (int i = 0; i < kPagesOfSlice; ++i)
      of_one.page[table][i] = __shfl_sync(0xffffffffu, pages.page[table][i], lane);
  }
  return of_one;
}

// Copies slices of one of K and V. Holds this thread's part of the addresses.
template <int kRowBytes, int kTable, class Layout = SwizzledRows<kRowBytes>>
class SliceCopy {
 public:
  __device__ SliceCopy(GlobalAddress base, long long page_stride, long long token_stride,
                       long long head_stride, int head, int thread)
      : base_(base + kElementBytes * (head * head_stride + thread / kChunks * token_stride) +
              thread % kChunks * 16),
        page_stride_(page_stride * kElementBytes),
        token_stride_(token_stride * kElementBytes),
        row_(thread / kChunks),
        target_(Layout::place(row_, thread % kChunks)) {}

  // For loops that have few registers, in which the compiler would work them out for every slice.
  __device__ void keep_in_registers() {
    keep_in_register(base_);
    keep_in_register(target_);
  }

  // Tokens outside `range` become zeros and are not read: a page that is not in use, or the rest of one,
  // may hold anything, NaN included, and 0 * NaN in P V would be NaN.
  // `kAtOnce` copies are unrolled: all of them in the loop over the KV, only a part where unrolling would be
  // more to compile than it saves.
  template <int kAtOnce>
  __device__ void copy(SharedAddress slice, int token, const SlicePages& pages, const KvRange& range) const {
    if (kGroupThreads > kRowsPerIteration * kChunks && row_ >= kSlice) return;
    if constexpr (kPagesOfSlice > 1) {
      copy_pages(slice, token, pages, range);
    } else {
      copy_in_page<kAtOnce>(slice, token, pages.page[kTable][0], range);
    }
  }

 private:
  static constexpr int kChunks = kRowBytes / 16;
  static constexpr int kRowsPerIteration = minimum(kGroupThreads / kChunks, kSlice);
  static constexpr int kIterations = kSlice / kRowsPerIteration;
  static_assert(kRowsPerIteration * kChunks <= kGroupThreads && kIterations * kRowsPerIteration == kSlice,
                "the threads of a group divide a slice evenly, or some of them have no row");

  template <int kAtOnce>
  __device__ void copy_in_page(SharedAddress slice, int token, int page, const KvRange& range) const {
    GlobalAddress source = base_ + static_cast<unsigned>(page) * static_cast<unsigned long long>(page_stride_);
    // A slice as long as a page begins where one does.
    if constexpr (page_size > kSlice) source += static_cast<long long>(token & (page_size - 1)) * token_stride_;
    // Row by row, so that a copy's own row is a constant beside it.
    KvRange valid{range.begin - token - row_, range.end - token - row_};
    SharedAddress target = slice + target_;
    constexpr int kPart = minimum(kAtOnce, kIterations);
    constexpr int kPartRows = kPart * kRowsPerIteration;
    static_assert(kPart == kIterations || kPartRows % 4 == 0,
                  "one XOR makes a part's swizzle the next one's");
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

  // A slice of several pages, which begins where one does.
  __device__ void copy_pages(SharedAddress slice, int token, const SlicePages& pages,
                             const KvRange& range) const {
    const KvRange valid{range.begin - token - row_, range.end - token - row_};
#pragma unroll
    for (int i = 0; i < kIterations; ++i) {
      const int rows = i * kRowsPerIteration;
      const int part = rows / page_size + (kRowsPerIteration > page_size ? row_ / page_size : 0);
      int page = pages.page[kTable][0];
#pragma unroll
      for (int k = 1; k < kPagesOfSlice; ++k)
        page = part == k ? pages.page[kTable][k] : page;
      const GlobalAddress source = base_ + static_cast<long long>(page) * page_stride_ +
                                   static_cast<long long>(rows - part * page_size) * token_stride_;
      async_copy_16_or_zero(moved(slice + target_, rows), source, valid.holds(rows));
    }
  }

  // An address so many rows further, in the same chunk.
  __device__ static SharedAddress moved(SharedAddress address, int rows) {
    return advanced(address, swizzle_of<Layout::kStep>(rows)) + rows * Layout::kStep;
  }

  GlobalAddress base_;
  long long page_stride_;
  long long token_stride_;
  int row_;
  unsigned target_;
};

// Where one group of warps stands in its part of the KV.
class SliceWalk {
 public:
  __device__ SliceWalk(const AttentionDecodeParameters& p, int batch, const KvRange& range, int group_kv)
      : table_(p.page_table + 4 * (batch * p.page_table_stride)),
        v_table_offset_(4ll * p.v_page_table_offset),
        first_(range.begin + group_kv * kSlice),
        end_(range.end),
        count_(maximum(divide_up(range.end - first_, kSlice * kWarpsKv), 0)),
        most_(maximum(divide_up(range.end - range.begin, kSlice * kWarpsKv), 0)) {}

  __device__ int count() const { return count_; }
  __device__ int most() const { return most_; }  // slices of any group: as many, or one more
  __device__ int token(int index) const { return first_ + index * (kSlice * kWarpsKv); }
  // 0 where the slice, or the rest of it, lies behind the end.
  __device__ SlicePages pages(int index) const {
    SlicePages pages;
    const GlobalAddress entry = table_ + 4ull * static_cast<unsigned>(token(index) / page_size);
#pragma unroll
    for (int i = 0; i < kPagesOfSlice; ++i) {
      const bool holds = i == 0 ? index < count_ : token(index) + i * page_size < end_;
      pages.page[0][i] = holds ? load_global_constant_int(entry + 4 * i) : 0;
      if constexpr (separate_page_tables)
        pages.page[1][i] = holds ? load_global_constant_int(entry + v_table_offset_ + 4 * i) : 0;
    }
    return pages;
  }

 private:
  GlobalAddress table_;
  long long v_table_offset_;
  int first_;
  int end_;
  int count_;
  int most_;
};

}  // namespace cubinet::attention
