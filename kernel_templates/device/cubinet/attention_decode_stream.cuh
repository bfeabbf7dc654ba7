// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_decode` brings K and V into shared memory.
#include <cubinet/attention_decode_copy.cuh>

namespace cubinet::attention {

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
