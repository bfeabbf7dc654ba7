// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_decode_wgmma` brings K and V into shared memory.
#include <cubinet/attention_decode_copy.cuh>
#include <cubinet/mbarrier.cuh>

namespace cubinet::attention {

// The slices of one warpgroup on their way through its ring of shared memory. All of the group's threads call
// reach_k, work_beside_qk, reach_v, work_beside_pv for slice after slice. Whoever calls reach_k or
// reach_v waited for its products before; so a place is filled again while the products are under way that
// follow its last use.
class WarpgroupStream {
 public:
  __device__ WarpgroupStream(const AttentionDecodeParameters& p, int batch, int head_kv, const KvRange& range,
                             int oldest, SharedAddress ring)
      : walk_(p, batch, range, 0),
        readable_{maximum(range.begin, oldest), range.end},
        copy_k_(p.k, p.k_page_stride, p.k_token_stride, p.k_head_stride, head_kv,
                threadIdx.x % kGroupThreads),
        copy_v_(p.v, p.v_page_stride, p.v_token_stride, p.v_head_stride, head_kv,
                threadIdx.x % kGroupThreads),
        ring_(ring) {}

  __device__ int count() const { return walk_.count(); }
  __device__ int token(int index) const { return walk_.token(index); }
  __device__ SharedAddress k_slice() const { return k_place(slot_); }
  __device__ SharedAddress v_slice() const { return v_place(slot_); }

  // All but the last V, which the first slice brings.
  __device__ void fill() {
    // One load for all look-ups: lane i reads the page of slice i.
    const SlicePages pages = walk_.pages(minimum(threadIdx.x % 32, stages));
    next_pages_ = of_lane(pages, stages);
#pragma unroll 1
    for (int slot = 0; slot < stages; ++slot) {
      pages_ = of_lane(pages, slot);
      if (slot < count()) copy_k_.copy<4>(k_place(slot), token(slot), pages_, readable_);
      async_copy_commit();
      if (slot == stages - 1) break;
      if (slot < count()) copy_v_.copy<4>(v_place(slot), token(slot), pages_, readable_);
      async_copy_commit();
    }
  }

  // What this thread had committed before `fill`.
  __device__ void wait_for_what_preceded() const {
    async_copy_wait<2 * stages - 1>();
  }

  __device__ void reach_k() const {
    wait();
  }
  __device__ void reach_v() const {
    wait();
  }

  // Brings V of the slice whose K was brought last.
  __device__ void work_beside_qk(int index) {
    const int of = index + stages - 1;
    if (of < count())
      copy_v_.copy<kSlice>(v_place(slot_ == 0 ? stages - 1 : slot_ - 1), token(of), pages_, readable_);
    async_copy_commit();
  }

  __device__ void work_beside_pv(int index) {
    pages_ = next_pages_;
    // Read a whole slice ahead of its use, to hide what the look-up takes.
    next_pages_ = walk_.pages(index + 1 + stages);
    if (index + stages < count()) copy_k_.copy<kSlice>(k_slice(), token(index + stages), pages_, readable_);
    async_copy_commit();
    slot_ = slot_ + 1 == stages ? 0 : slot_ + 1;
  }

 private:
  // For the oldest half slice.
  __device__ void wait() const {
    async_copy_wait<2 * stages - 2>();
    fence_async_proxy();
    synchronize_group(0);
  }
  __device__ SharedAddress k_place(int slot) const {
    return ring_ + slot * kSliceBytesK;
  }
  __device__ SharedAddress v_place(int slot) const {
    return ring_ + stages * kSliceBytesK + slot * kSliceBytesV;
  }

  SliceWalk walk_;
  KvRange readable_;
  SliceCopy<kRowBytesK, 0, SwizzledColumns<kSlice>> copy_k_;
  SliceCopy<kRowBytesV, kPageTables - 1, SwizzledColumns<kSlice>> copy_v_;
  SharedAddress ring_;
  int slot_ = 0;
  SlicePages pages_ = {};
  SlicePages next_pages_ = {};
};

}  // namespace cubinet::attention
