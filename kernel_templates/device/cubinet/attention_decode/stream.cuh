// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipeline of `attention_decode`, which copies K and V to shared memory.
#include <cubinet/attention/rows.cuh>
#include <cubinet/attention_decode/shape.cuh>
#include <cubinet/paged/slice_copy.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_decode {

using Range = paged::TokenRange<sliding_window>;
using SlicePages = paged::SlicePagesOf<Shape>;
using SliceWalk = paged::SliceWalkOf<Shape>;

// Synchronizes the warps that share a slice.
__device__ inline void synchronize_group(int group_kv) {
  if constexpr (Shape::kGroupThreads == 32) {
    __syncwarp();
  } else {
    synchronize_warps<Shape::kGroupThreads>(group_kv + 1);
  }
}

// Synchronizes the warps that share 16 rows, with invariant numerics.
__device__ inline void synchronize_parts(int first_row) {
  synchronize_warps<32 * Shape::kParts>(2 + first_row / 16);
}

// The slices of one group of warps, and its ring of stages. K and V of a slice have separate waits
// and releases, so a slot is refilled as early as possible. For each slice, all threads of the
// group call wait, release_k, wait, release_v in this order.
//
// With invariant numerics they call wait_for_first once, and for each group of kAtOnce slices
// wait_for_step, refill, look_up and advance in this order.
class KvStream {
 public:
  // `range` is the token range of the work item. Tokens before `oldest` are outside the window of
  // every row and are not read.
  __device__ KvStream(const AttentionDecodeParameters& p, const Sequence& sequence, int head_kv,
                      const Range& range, int oldest, int group_kv, SharedAddress rings)
      : walk_(sequence.page_table(p), range, group_kv),
        readable_{maximum(range.begin, oldest), range.end},
        copy_k_(p.k, {p.k_page_stride, p.k_token_stride, p.k_head_stride}, head_kv,
                threadIdx.x % Shape::kGroupThreads),
        copy_v_(p.v, {p.v_page_stride, p.v_token_stride, p.v_head_stride}, head_kv,
                threadIdx.x % Shape::kGroupThreads),
        ring_(rings + group_kv * Shape::kRingBytes),
        group_kv_(group_kv),
        pages_(walk_.pages(minimum(threadIdx.x % 32, stages + Shape::kAtOnce - 1))) {}

  __device__ int count() const { return walk_.count(); }
  __device__ int token(int index) const { return walk_.token(index); }
  __device__ SharedAddress k_slice() const { return ring_ + slot_ * Shape::kSliceBytesK; }
  __device__ SharedAddress v_slice() const {
    return ring_ + stages * Shape::kSliceBytesK + slot_ * Shape::kSliceBytesV;
  }

  // Starts the copies of the first slices, one for each stage.
  __device__ void fill() {
    if constexpr (Shape::kInvariant) {
      fill_groups();
      return;
    }
    next_pages_ = pages_.of_lane(stages);
#pragma unroll 1
    for (slot_ = 0; slot_ < stages; ++slot_) {
      const SlicePages of_slot = pages_.of_lane(slot_);
      if (slot_ < count()) copy_k_.copy<4>(k_slice(), token(slot_), of_slot, readable_);
      async_copy_commit();
      if (slot_ < count()) copy_v_.copy<4>(v_slice(), token(slot_), of_slot, readable_);
      async_copy_commit();
    }
    slot_ = 0;
  }

  // Blocks until the copies that this thread committed before `fill` are complete.
  __device__ void wait_for_earlier_copies() const {
    async_copy_wait<Shape::kInvariant ? 2 * kGroups - 1 : 2 * stages>();
  }

  // Blocks until the oldest half slice (K or V) is complete for all threads of the group. 2 *
  // stages copies are committed; all but one may be in flight.
  __device__ void wait() const {
    async_copy_wait<2 * stages - 1>();
    synchronize_group(group_kv_);
  }

  // The functions below are for invariant numerics. A group is kAtOnce slices.

  // Blocks until K of the first group is complete for all threads of the group of warps.
  __device__ void wait_for_first() const {
    async_copy_wait<2 * kGroups - 2>();
    synchronize_group(group_kv_);
  }
  // Blocks until V of this group and K of the next one are complete for all threads of the group of
  // warps, and all warps have used V of the group before and K of this one.
  __device__ void wait_for_step() const {
    async_copy_wait<2 * kGroups - 4>();
    synchronize_group(group_kv_);
  }
  __device__ SharedAddress v_slice(int k) const {
    return v_slot(slot_ + k);
  }
  __device__ SharedAddress next_k_slice(int k) const {
    return k_slot(next_slot() + k);
  }
  // Refills the slots of V of the group before and of K of this one, which starts with slice
  // `first`. A slice that the range does not have becomes zeros if another one of its group is
  // there.
  __device__ void refill(int first) {
    const int slot = slot_ == 0 ? stages - kAtOnce : slot_ - kAtOnce;
    const int of = first + stages;
    if (of - kAtOnce < count()) {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        copy_v_.copy<kSlice>(v_slot(slot + k), token(of - kAtOnce + k), next_v_[k], readable_);
    }
    async_copy_commit();
    if (of < count()) {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        copy_k_.copy<kSlice>(k_slot(slot_ + k), token(of + k), next_k_[k], readable_);
    }
    async_copy_commit();
  }
  // Looks up the pages of the next refill, a whole group ahead of their use.
  __device__ void look_up(int first) {
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      next_v_[k] = next_k_[k];
      next_k_[k] = walk_.pages(first + kAtOnce + stages + k);
    }
  }
  __device__ void advance() {
    slot_ = next_slot();
  }

  // Refills the slot of K.
  __device__ void release_k(int index) {
    pages_ = next_pages_;
    // The look-up runs a whole slice ahead of its use, which hides its latency.
    next_pages_ = walk_.pages(index + 1 + stages);
    synchronize_group(group_kv_);
    if (index + stages < count()) copy_k_.copy<kSlice>(k_slice(), token(index + stages), pages_, readable_);
    async_copy_commit();
  }

  // Refills the slot of V, and advances to the next slice.
  __device__ void release_v(int index) {
    synchronize_group(group_kv_);
    if (index + stages < count()) copy_v_.copy<kSlice>(v_slice(), token(index + stages), pages_, readable_);
    async_copy_commit();
    advance();
  }

  // Passes the barriers of a missing slice. Must be called after the last slice. A group with one
  // slice fewer than others does this because compute-sanitizer's racecheck reports races across
  // CTA-wide barriers if groups have passed their own barriers unequally often. It costs nothing:
  // the CTA waits for its slowest group anyway.
  __device__ void pass_missing_barriers() const {
    if constexpr (Shape::kWarpsQ > 1) {
      if (count() == walk_.most()) return;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        synchronize_group(group_kv_);
    }
  }

 private:
  static constexpr int kAtOnce = Shape::kAtOnce;
  static constexpr int kGroups = stages / kAtOnce;

  __device__ int next_slot() const {
    return slot_ + kAtOnce == stages ? 0 : slot_ + kAtOnce;
  }
  __device__ SharedAddress k_slot(int slot) const {
    return ring_ + slot * Shape::kSliceBytesK;
  }
  __device__ SharedAddress v_slot(int slot) const {
    return ring_ + stages * Shape::kSliceBytesK + slot * Shape::kSliceBytesV;
  }

  // Starts the copies of the first groups, except for the last V, which the first refill starts.
  // Slices of a group that the range does not have are zeros.
  __device__ void fill_groups() {
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      next_v_[k] = pages_.of_lane(stages - kAtOnce + k);
      next_k_[k] = pages_.of_lane(stages + k);
    }
#pragma unroll 1
    for (int first = 0;; first += kAtOnce) {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const SlicePages pages = pages_.of_lane(first + k);
        if (first < count()) copy_k_.copy<4>(k_slot(first + k), token(first + k), pages, readable_);
      }
      async_copy_commit();
      if (first == stages - kAtOnce) break;
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const SlicePages pages = pages_.of_lane(first + k);
        if (first < count()) copy_v_.copy<4>(v_slot(first + k), token(first + k), pages, readable_);
      }
      async_copy_commit();
    }
  }

  SliceWalk walk_;
  Range readable_;
  paged::SliceCopyOf<Shape, Shape::kRowBytesK, 0> copy_k_;
  paged::SliceCopyOf<Shape, Shape::kRowBytesV, SlicePages::kTables - 1> copy_v_;
  SharedAddress ring_;
  int group_kv_;
  int slot_ = 0;
  // Up to the first release_k, lane i holds the pages of slice i, so that one load makes all
  // look-ups of `fill`. Afterwards every lane holds the pages of the slice that is copied next.
  SlicePages pages_;
  SlicePages next_pages_ = {};  // of the slice after `pages_`, the same in every lane
  // These are the pages of the next refills, with invariant numerics.
  SlicePages next_v_[Shape::kAtOnce] = {};
  SlicePages next_k_[Shape::kAtOnce] = {};
};

}  // namespace cubinet::attention_decode
