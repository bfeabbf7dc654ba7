// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_wide` brings K and V into shared memory.
#include <cubinet/async_copy.cuh>
#include <cubinet/attention_decode_rows.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention {

// Neighbouring threads share a row, 8 at least: what they bring at a time is 128 bytes, or more.
constexpr int kRowThreads = maximum(kThreads / tile_size_kv, 8);
constexpr int kRowsAtOnce = kThreads / kRowThreads;
constexpr int kRowsOfThread = tile_size_kv / kRowsAtOnce;

// The pages of a thread's rows of a step.
struct RowPages {
  int page[kRowsOfThread];
};

// Copies this thread's part of the rows of K or V.
template <int kRowBytes>
class RowCopy {
 public:
  __device__ RowCopy(GlobalAddress base, long long page_stride, long long token_stride, long long head_stride,
                     int head)
      : base_(base + kElementBytes * (head * head_stride) + threadIdx.x % kRowThreads * 16),
        page_stride_(page_stride * kElementBytes),
        token_stride_(token_stride * kElementBytes) {}

  // Tokens outside `range` become zeros and are not read: a page that is not in use, or the rest of one,
  // may hold anything, NaN included, and 0 * NaN in P V would be NaN.
  __device__ void copy(SharedAddress step, int token, const RowPages& pages, const KvRange& range) const {
#pragma unroll
    for (int i = 0; i < kRowsOfThread; ++i) {
      const int row = threadIdx.x / kRowThreads + i * kRowsAtOnce;
      const int of_row = token + row;
      const bool valid = of_row < range.end && of_row >= range.begin;
      const GlobalAddress source = base_ + static_cast<long long>(pages.page[i]) * page_stride_ +
                                   static_cast<long long>(of_row & (page_size - 1)) * token_stride_;
      const SharedAddress target = step + swizzled<kRowBytes>(row, threadIdx.x % kRowThreads);
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        if ((part + 1) * kRowThreads <= kChunks || static_cast<int>(threadIdx.x) % kRowThreads < kChunks % kRowThreads)
          async_copy_16_or_zero(target + part * (kRowThreads * 16), source + part * (kRowThreads * 16), valid);
      }
    }
  }

 private:
  static constexpr int kChunks = kRowBytes / 16;
  static constexpr int kParts = divide_up(kChunks, kRowThreads);

  GlobalAddress base_;
  long long page_stride_;
  long long token_stride_;
};

// The steps of a piece on their way through the rings. K is brought kLead steps before V, as it is used; what is both
// stays for as long.
class WideStream {
 public:
  // `range` is the piece's; tokens before `oldest` are outside every row's window and are not read.
  __device__ WideStream(const AttentionDecodeParameters& p, int batch, int head_kv, const KvRange& range, int oldest,
                        SharedAddress ring)
      : table_(p.page_table + 4 * (batch * p.page_table_stride)),
        v_table_offset_(4ll * p.v_page_table_offset),
        first_(range.begin),
        count_(maximum(divide_up(range.end - range.begin, tile_size_kv), 0)),
        readable_{maximum(range.begin, oldest), range.end},
        copy_k_(p.k, p.k_page_stride, p.k_token_stride, p.k_head_stride, head_kv),
        copy_v_(p.v, p.v_page_stride, p.v_token_stride, p.v_head_stride, head_kv),
        ring_(ring) {}

  __device__ int count() const { return count_; }
  __device__ int token(int step) const { return first_ + step * tile_size_kv; }

  __device__ void fill() {
    next_pages_ = pages(0, 0);
#pragma unroll 1
    for (int i = 0; i < kAhead; ++i)
      bring();
  }

  // For what the next step reads.
  __device__ void wait() const { async_copy_wait<kAhead - 1>(); }
  // The places that the step before read are filled again.
  __device__ void release() { bring(); }

  // Of the step kLead behind the one whose V is v_step().
  __device__ SharedAddress k_step() const { return ring_ + k_slot_ * kStepBytesK; }
  __device__ SharedAddress v_step() const {
    const int slot = k_slot_ < kLead ? k_slot_ - kLead + stages : k_slot_ - kLead;
    return kLatent ? ring_ + slot * kStepBytesK : ring_ + stages * kStepBytesK + slot * kStepBytesV;
  }
  __device__ void advance() { k_slot_ = next_slot(k_slot_); }

 private:
  // Steps that are under way before the first is used. What is both K and V keeps kLead places more.
  static constexpr int kAhead = stages - 1 - (kLatent ? kLead : 0);

  __device__ static int next_slot(int slot) { return slot + 1 == stages ? 0 : slot + 1; }

  __device__ RowPages pages(int step, long long offset) const {
    RowPages of_rows;
#pragma unroll
    for (int i = 0; i < kRowsOfThread; ++i) {
      const int of_row = token(step) + static_cast<int>(threadIdx.x) / kRowThreads + i * kRowsAtOnce;
      of_rows.page[i] = of_row < readable_.end && of_row >= readable_.begin
                            ? load_global_constant_int(table_ + offset + 4ull * static_cast<unsigned>(of_row / page_size))
                            : 0;
    }
    return of_rows;
  }

  __device__ void bring() {
    const RowPages k_pages = next_pages_;
    next_pages_ = pages(brought_ + 1, 0);  // read a whole step ahead of its use, to hide what the look-up takes
    if (brought_ < count_) copy_k_.copy(ring_ + slot_ * kStepBytesK, token(brought_), k_pages, readable_);
    if constexpr (!kLatent) {
      const int v = brought_ - kLead;
      const RowPages v_pages = next_v_pages_;
      next_v_pages_ = pages(v + 1, separate_page_tables ? v_table_offset_ : 0);
      if (v >= 0) {
        if (v < count_)
          copy_v_.copy(ring_ + stages * kStepBytesK + v_slot_ * kStepBytesV, token(v), v_pages, readable_);
        v_slot_ = next_slot(v_slot_);
      }
    }
    async_copy_commit();
    ++brought_;
    slot_ = next_slot(slot_);
  }

  GlobalAddress table_;
  long long v_table_offset_;
  int first_;
  int count_;
  KvRange readable_;
  RowCopy<kRowBytesK> copy_k_;
  RowCopy<kRowBytesV> copy_v_;
  SharedAddress ring_;
  int brought_ = 0;  // steps of K
  int slot_ = 0;     // of the next
  int v_slot_ = 0;   // of V's next
  int k_slot_ = 0;   // of k_step()
  RowPages next_pages_ = {};
  RowPages next_v_pages_ = {};
};

}  // namespace cubinet::attention
