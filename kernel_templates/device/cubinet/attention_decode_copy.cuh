// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_decode` brings Q, K and V into shared memory.
#include <cubinet/async_copy.cuh>
#include <cubinet/attention_decode_shape.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention {

__device__ inline void synchronize_group(int group_kv) {
  if constexpr (kWarpsQ == 1) {
    __syncwarp();
  } else {
    asm volatile("bar.sync %0, %1;" ::"r"(group_kv + 1), "n"(kGroupThreads) : "memory");
  }
}

// Copies slices of one of K and V. Holds this thread's part of the addresses.
template <int kRowBytes>
class SliceCopy {
 public:
  __device__ SliceCopy(GlobalAddress base, long long page_stride, long long token_stride,
                       long long head_stride, int head, int thread)
      : base_(base + kElementBytes * (head * head_stride + thread / kChunks * token_stride) +
              thread % kChunks * 16),
        page_stride_(page_stride * kElementBytes),
        token_stride_(token_stride * kElementBytes),
        row_(thread / kChunks),
        target_(swizzled<kRowBytes>(row_, thread % kChunks)) {}

  // Tokens outside `range` become zeros and are not read: a page that is not in use, or the rest of one,
  // may hold anything, NaN included, and 0 * NaN in P V would be NaN.
  // `kAtOnce` copies are unrolled: all of them in the loop over the KV, only a part where unrolling would be
  // more to compile than it saves.
  template <int kAtOnce>
  __device__ void copy(SharedAddress slice, int token, int page, const KvRange& range) const {
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
        async_copy_16_or_zero(advanced(target, rows & 7) + rows * kRowBytes, source, valid.holds(rows));
        source += kRowsPerIteration * token_stride_;
      }
      target = advanced(target, kPartRows & 7) + kPartRows * kRowBytes;
      valid = {valid.begin - kPartRows, valid.end - kPartRows};
    }
  }

 private:
  static constexpr int kChunks = kRowBytes / 16;
  static constexpr int kRowsPerIteration = kGroupThreads / kChunks;
  static constexpr int kIterations = kSlice / kRowsPerIteration;
  static_assert(kRowsPerIteration * kChunks == kGroupThreads && kIterations * kRowsPerIteration == kSlice,
                "the threads of a group divide a slice evenly");

  GlobalAddress base_;
  long long page_stride_;
  long long token_stride_;
  int row_;
  unsigned target_;
};

// A thread takes the same chunk of every row that it copies, so that only the row's part of the addresses is
// worked out again.
__device__ inline void copy_q(const AttentionDecodeParameters& p, const PackedRows& rows, int batch,
                              int head_kv, SharedAddress q_shared) {
  constexpr int kChunks = kRowBytesQk / 16;
  constexpr int kRowsAtOnce = minimum(kThreads / kChunks, tile_size_q);
  const int first = threadIdx.x / kChunks;
  if (kThreads > kRowsAtOnce * kChunks && first >= kRowsAtOnce) return;
  const int group = rows.group.divisor;
  const int chunk = threadIdx.x % kChunks;
  const GlobalAddress base =
      p.q + kElementBytes * (batch * p.q_batch_stride + head_kv * group * p.q_head_stride) + chunk * 16;
  const long long token_step = p.q_token_stride - group * p.q_head_stride;
#pragma unroll 1
  for (int i = 0; i < tile_size_q / kRowsAtOnce; ++i) {
    const int row = first + i * kRowsAtOnce;
    const int packed = minimum(rows.first + row, rows.count - 1);
    const int token = rows.group.quotient(packed);
    async_copy_16_or_zero(q_shared + swizzled<kRowBytesQk>(row, chunk),
                          base + kElementBytes * (token * token_step + packed * p.q_head_stride),
                          rows.holds(row));
  }
}

// Where one group of warps stands in its part of the KV.
class SliceWalk {
 public:
  __device__ SliceWalk(const AttentionDecodeParameters& p, int batch, const KvRange& range, int group_kv)
      : table_(p.page_table + 4 * (batch * p.page_table_stride)),
        first_(range.begin + group_kv * kSlice),
        count_(maximum(divide_up(range.end - first_, kSlice * kWarpsKv), 0)),
        most_(maximum(divide_up(range.end - range.begin, kSlice * kWarpsKv), 0)) {}

  __device__ int count() const { return count_; }
  __device__ int most() const { return most_; }  // slices of any group: as many, or one more
  __device__ int token(int index) const { return first_ + index * (kSlice * kWarpsKv); }
  __device__ int page(int index) const {
    return index < count_
               ? load_global_constant_int(table_ + 4ull * static_cast<unsigned>(token(index) / page_size))
               : 0;
  }

 private:
  GlobalAddress table_;
  int first_;
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
        group_kv_(group_kv) {}

  __device__ int count() const { return walk_.count(); }
  __device__ int token(int index) const { return walk_.token(index); }
  __device__ SharedAddress k_slice() const { return ring_ + slot_ * kSliceBytesK; }
  __device__ SharedAddress v_slice() const { return ring_ + stages * kSliceBytesK + slot_ * kSliceBytesV; }

  __device__ void fill() {
    // One load for all look-ups: lane i reads the page of slice i.
    const int pages = walk_.page(minimum(threadIdx.x % 32, stages));
    next_page_ = __shfl_sync(0xffffffffu, pages, stages);
#pragma unroll 1
    for (slot_ = 0; slot_ < stages; ++slot_) {
      const int page = __shfl_sync(0xffffffffu, pages, slot_);
      if (slot_ < count()) copy_k_.copy<4>(k_slice(), token(slot_), page, readable_);
      async_copy_commit();
      if (slot_ < count()) copy_v_.copy<4>(v_slice(), token(slot_), page, readable_);
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
    page_ = next_page_;
    // Read a whole slice ahead of its use, to hide what the look-up takes.
    next_page_ = walk_.page(index + 1 + stages);
    synchronize_group(group_kv_);
    if (index + stages < count()) copy_k_.copy<kSlice>(k_slice(), token(index + stages), page_, readable_);
    async_copy_commit();
  }

  __device__ void release_v(int index) {
    synchronize_group(group_kv_);
    if (index + stages < count()) copy_v_.copy<kSlice>(v_slice(), token(index + stages), page_, readable_);
    async_copy_commit();
    slot_ = slot_ + 1 == stages ? 0 : slot_ + 1;
  }

  // After the last slice: a group that walked one slice less than others passes that slice's barriers too. The
  // block waits for its slowest group anyway, and compute-sanitizer's racecheck sees races across the block's
  // barriers where groups have passed their own unequally often.
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
  SliceCopy<kRowBytesQk> copy_k_;
  SliceCopy<kRowBytesV> copy_v_;
  SharedAddress ring_;
  int group_kv_;
  int slot_ = 0;
  int page_ = 0;
  int next_page_ = 0;
};

}  // namespace cubinet::attention
