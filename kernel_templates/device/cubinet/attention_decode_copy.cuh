// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the templates `attention_decode` and `attention_decode_wgmma` bring K and V into shared memory.
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
    GlobalAddress source = base_ + static_cast<long long>(page) * page_stride_ +
                           static_cast<long long>(token & (page_size - 1)) * token_stride_;
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

// The slices of one group of warps on their way through its ring of shared memory. K and V of a slice are
// waited for and given back apart, so that a place is filled again as soon as it can be. All of the group's
// threads call every function, in the order wait, release_k, wait, release_v for slice after slice.
class KvStream {
 public:
  // `range` is the split; tokens before `oldest` are outside every row's window and are not read.
  __device__ KvStream(const AttentionDecodeParameters& p, int batch, int head_kv, const KvRange& range,
                      int oldest, int group_kv, SharedAddress rings)
      : walk_(p, batch, range, group_kv),
        readable_{maximum(range.begin, oldest), range.end},
        copy_k_(p.k, p.k_page_stride, p.k_token_stride, p.k_head_stride, head_kv,
                threadIdx.x % kGroupThreads),
        copy_v_(p.v, p.v_page_stride, p.v_token_stride, p.v_head_stride, head_kv,
                threadIdx.x % kGroupThreads),
        ring_(rings + group_kv * kRingBytes),
        group_kv_(group_kv),
        pages_(walk_.pages(minimum(threadIdx.x % 32, stages))) {}

  __device__ int count() const { return walk_.count(); }
  __device__ int token(int index) const { return walk_.token(index); }
  __device__ SharedAddress k_slice() const { return ring_ + slot_ * kSliceBytesK; }
  __device__ SharedAddress v_slice() const { return ring_ + stages * kSliceBytesK + slot_ * kSliceBytesV; }

  __device__ void fill() {
    next_pages_ = of_lane(pages_, stages);
#pragma unroll 1
    for (slot_ = 0; slot_ < stages; ++slot_) {
      const SlicePages of_slot = of_lane(pages_, slot_);
      if (slot_ < count()) copy_k_.copy<4>(k_slice(), token(slot_), of_slot, readable_);
      async_copy_commit();
      if (slot_ < count()) copy_v_.copy<4>(v_slice(), token(slot_), of_slot, readable_);
      async_copy_commit();
    }
    slot_ = 0;
  }

  // What this thread had committed before `fill`.
  __device__ void wait_for_what_preceded() const {
    async_copy_wait<2 * stages>();
  }

  // For the oldest half slice: 2 * stages are always committed, all but one of which may be under way.
  __device__ void wait() const {
    async_copy_wait<2 * stages - 1>();
    synchronize_group(group_kv_);
  }

  __device__ void release_k(int index) {
    pages_ = next_pages_;
    // Read a whole slice ahead of its use, to hide what the look-up takes.
    next_pages_ = walk_.pages(index + 1 + stages);
    synchronize_group(group_kv_);
    if (index + stages < count()) copy_k_.copy<kSlice>(k_slice(), token(index + stages), pages_, readable_);
    async_copy_commit();
  }

  __device__ void release_v(int index) {
    synchronize_group(group_kv_);
    if (index + stages < count()) copy_v_.copy<kSlice>(v_slice(), token(index + stages), pages_, readable_);
    async_copy_commit();
    slot_ = slot_ + 1 == stages ? 0 : slot_ + 1;
  }

  // After the last slice: a group that walked one slice less than others passes that slice's barriers too.
  // The block waits for its slowest group anyway, and compute-sanitizer's racecheck sees races across the
  // block's barriers where groups have passed their own unequally often.
  __device__ void pass_missing_barriers() const {
    if constexpr (kWarpsQ > 1) {
      if (count() == walk_.most()) return;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        synchronize_group(group_kv_);
    }
  }

 private:
  SliceWalk walk_;
  KvRange readable_;
  SliceCopy<kRowBytesK, 0> copy_k_;
  SliceCopy<kRowBytesV, kPageTables - 1> copy_v_;
  SharedAddress ring_;
  int group_kv_;
  int slot_ = 0;
  SlicePages pages_;  // before `fill` lane i has that of slice i: one load for all look-ups
  SlicePages next_pages_ = {};
};

}  // namespace cubinet::attention
