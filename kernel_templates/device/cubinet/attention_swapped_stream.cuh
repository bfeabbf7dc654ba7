// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_decode_swapped` brings K and V into shared memory: as they are.
#include <cubinet/attention_decode_copy.cuh>
#include <cubinet/attention_swapped_shape.cuh>

namespace cubinet::attention {

// The slices of a block on their way through its ring. All threads call reach, refill, advance for slice after slice,
// with a barrier between the last look at a slice and the next reach.
class SwappedStream {
 public:
  __device__ SwappedStream(const AttentionDecodeParameters& p, int batch, int head_kv, const KvRange& range, int oldest,
                           const SharedLayout& layout, const ThreadPlace& place = {})
      : walk_(p, batch, range, 0),
        readable_{maximum(range.begin, oldest), range.end},
        copy_k_(p.k, p.k_page_stride, p.k_token_stride, p.k_head_stride, head_kv, place.thread),
        copy_v_(p.v, p.v_page_stride, p.v_token_stride, p.v_head_stride, head_kv, place.thread),
        layout_(layout) {
    copy_k_.keep_in_registers();
    copy_v_.keep_in_registers();
  }

  __device__ int count() const { return walk_.count(); }
  __device__ int token(int index) const { return walk_.token(index); }
  // How far its slot is behind the first.
  __device__ unsigned offset() const { return slot_ * kSliceBytes; }

  // All slots but one.
  __device__ void fill() {
    look_up(0);
    __syncthreads();
#pragma unroll 1
    for (int index = 0; index < stages - 1; ++index)
      copy<4>(index, index);
  }
  // The slice is there for all threads. Behind the last there is what lay there before.
  __device__ void reach() const {
    async_copy_wait<stages - 2>();
    __syncthreads();
  }
  // The slot of the slice before, which nobody looks at any more. Called behind the loads of this slice's K, which
  // would wait for the copies otherwise.
  __device__ void refill(int index) { copy<kSlice>(slot_ == 0 ? stages - 1 : slot_ - 1, index + stages - 1); }
  __device__ void advance() { slot_ = slot_ + 1 == stages ? 0 : slot_ + 1; }

 private:
  // Slices come one after the other: their pages are looked up by as many at a time as a warp has lanes, which the others
  // see behind the next barrier.
  __device__ void look_up(int first) const {
    const ThreadPlace place;
    static_assert(sizeof(SlicePages) == kSlicePagesBytes && kSlicesAtOnce == 32);
    if (place.warp == 0) store_shared_object(layout_.pages(first + place.lane), walk_.pages(first + place.lane));
  }
  template <int kAtOnce>
  __device__ void copy(int slot, int index) {
    if (index % kSlicesAtOnce == kSlicesAtOnce - 1) look_up(index + 1);
    if (index < walk_.count()) {
      SlicePages pages;
      load_shared_object(layout_.pages(index), pages);
      const SharedAddress slice = layout_.slice(slot);
      copy_k_.copy<kAtOnce>(slice, walk_.token(index), pages, readable_);
      copy_v_.copy<kAtOnce>(slice + kSliceBytesK, walk_.token(index), pages, readable_);
    }
    async_copy_commit();
  }

  SliceWalk walk_;
  KvRange readable_;
  SliceCopy<kRowBytesK, 0> copy_k_;
  SliceCopy<kRowBytesV, kPageTables - 1> copy_v_;
  SharedLayout layout_;
  int slot_ = 0;
};

}  // namespace cubinet::attention
