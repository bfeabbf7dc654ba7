// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipeline of `attention_decode_wgmma`, which copies K and V to shared memory.
#include <cubinet/attention/rows.cuh>
#include <cubinet/attention_decode_wgmma/shape.cuh>
#include <cubinet/mbarrier.cuh>
#include <cubinet/paged/slice_copy.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_decode_wgmma {

using Range = paged::TokenRange<sliding_window>;
using SlicePages = paged::SlicePagesOf<Shape>;
using SliceWalk = paged::SliceWalkOf<Shape>;

// The slices of the warpgroup, and its ring of stages. For each slice, all threads call wait,
// work_beside_qk, wait, work_beside_pv in this order. REQUIRES: a caller of wait() has waited for
// its products. So a slot is refilled while the products that follow its last use are in flight.
class WarpgroupStream {
 public:
  // `range` is the token range of the work item. Tokens before `oldest` are outside the window of
  // every row and are not read.
  __device__ WarpgroupStream(const AttentionDecodeParameters& p, const Sequence& sequence, int head_kv,
                             const Range& range, int oldest, SharedAddress ring)
      : walk_(sequence.page_table(p), range, 0),
        readable_{maximum(range.begin, oldest), range.end},
        copy_k_(p.k, {p.k_page_stride, p.k_token_stride, p.k_head_stride}, head_kv,
                threadIdx.x % Shape::kGroupThreads),
        copy_v_(p.v, {p.v_page_stride, p.v_token_stride, p.v_head_stride}, head_kv,
                threadIdx.x % Shape::kGroupThreads),
        ring_(ring) {}

  __device__ int count() const { return walk_.count(); }
  __device__ int token(int index) const { return walk_.token(index); }
  __device__ SharedAddress k_slice() const { return k_slot(slot_); }
  __device__ SharedAddress v_slice() const { return v_slot(slot_); }

  // Starts the copies of the first slices, except for the last V. The first call of work_beside_qk
  // starts that copy.
  __device__ void fill() {
    // One load serves all look-ups: lane i reads the pages of slice i.
    const SlicePages pages = walk_.pages(minimum(threadIdx.x % 32, stages));
    next_pages_ = pages.of_lane(stages);
#pragma unroll 1
    for (int slot = 0; slot < stages; ++slot) {
      pages_ = pages.of_lane(slot);
      if (slot < count()) copy_k_.copy<4>(k_slot(slot), token(slot), pages_, readable_);
      async_copy_commit();
      if (slot == stages - 1) break;
      if (slot < count()) copy_v_.copy<4>(v_slot(slot), token(slot), pages_, readable_);
      async_copy_commit();
    }
  }

  // Blocks until the copies that this thread committed before `fill` are complete.
  __device__ void wait_for_earlier_copies() const {
    async_copy_wait<2 * stages - 1>();
  }

  // Blocks until the oldest half slice (K or V) is complete for all threads.
  __device__ void wait() const {
    async_copy_wait<2 * stages - 2>();
    fence_async_proxy();
    synchronize_warps<Shape::kGroupThreads>(1);
  }

  // Starts the copy of V of the slice whose K was started last.
  __device__ void work_beside_qk(int index) {
    const int of = index + stages - 1;
    if (of < count())
      copy_v_.copy<kSlice>(v_slot(slot_ == 0 ? stages - 1 : slot_ - 1), token(of), pages_, readable_);
    async_copy_commit();
  }

  // Starts the copy of K of the next slice that has none, and advances to the next slice.
  __device__ void work_beside_pv(int index) {
    pages_ = next_pages_;
    // The look-up runs a whole slice ahead of its use, which hides its latency.
    next_pages_ = walk_.pages(index + 1 + stages);
    if (index + stages < count()) copy_k_.copy<kSlice>(k_slice(), token(index + stages), pages_, readable_);
    async_copy_commit();
    slot_ = slot_ + 1 == stages ? 0 : slot_ + 1;
  }

 private:
  __device__ SharedAddress k_slot(int slot) const {
    return ring_ + slot * Shape::kSliceBytesK;
  }
  __device__ SharedAddress v_slot(int slot) const {
    return ring_ + stages * Shape::kSliceBytesK + slot * Shape::kSliceBytesV;
  }

  SliceWalk walk_;
  Range readable_;
  paged::SliceCopyOf<Shape, Shape::kRowBytesK, 0, SwizzledColumns<kSlice>> copy_k_;
  paged::SliceCopyOf<Shape, Shape::kRowBytesV, SlicePages::kTables - 1, SwizzledColumns<kSlice>> copy_v_;
  SharedAddress ring_;
  int slot_ = 0;
  SlicePages pages_ = {};
  SlicePages next_pages_ = {};
};

}  // namespace cubinet::attention_decode_wgmma
