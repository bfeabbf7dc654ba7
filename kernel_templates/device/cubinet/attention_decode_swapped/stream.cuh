// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipeline of `attention_decode_swapped`, which copies K and V, unconverted, to shared memory.
#include <cubinet/attention/rows.cuh>
#include <cubinet/attention_decode_swapped/shape.cuh>
#include <cubinet/paged/slice_copy.cuh>

namespace cubinet::attention_decode_swapped {

using Range = paged::TokenRange<sliding_window>;
using SlicePages = paged::SlicePagesOf<Shape>;

// The slices of a CTA, and its ring. For each slice, all threads call wait, refill, advance in this
// order. A barrier must separate the last use of a slice from the next wait.
class SwappedStream {
 public:
  // `range` is the token range of the work item. Tokens before `oldest` are outside the window of
  // every row and are not read.
  __device__ SwappedStream(const AttentionDecodeParameters& p, const Sequence& sequence, int head_kv,
                           const Range& range, int oldest, const SharedLayout& layout,
                           const ThreadIndex& index = {})
      : walk_(sequence.page_table(p), range, 0),
        readable_{maximum(range.begin, oldest), range.end},
        copy_k_(p.k, {p.k_page_stride, p.k_token_stride, p.k_head_stride}, head_kv, index.thread),
        copy_v_(p.v, {p.v_page_stride, p.v_token_stride, p.v_head_stride}, head_kv, index.thread),
        layout_(layout) {
    copy_k_.keep_in_registers();
    copy_v_.keep_in_registers();
  }

  __device__ int count() const { return walk_.count(); }
  __device__ int token(int index) const { return walk_.token(index); }
  // Returns the bytes from the first slot to the current one.
  __device__ unsigned offset() const { return slot_ * Shape::kSliceBytes; }

  // Starts the copies of the first slices, one fewer than there are slots.
  __device__ void fill() {
    look_up(0);
    __syncthreads();
#pragma unroll 1
    for (int index = 0; index < stages - 1; ++index)
      copy<4>(index, index);
  }
  // Blocks until all threads may read the slice. After the last slice the slot holds old data.
  __device__ void wait() const {
    async_copy_wait<stages - 2>();
    __syncthreads();
  }
  // Refills the slot of the previous slice, which no thread reads any more. Must be called after
  // the loads of K of the current slice, which would otherwise wait for the copies.
  __device__ void refill(int index) {
    copy<kSlice>(slot_ == 0 ? stages - 1 : slot_ - 1, index + stages - 1);
  }
  __device__ void advance() {
    slot_ = slot_ + 1 == stages ? 0 : slot_ + 1;
  }

 private:
  // Looks up the pages of kSlicesAtOnce slices, one per lane of warp 0. Other warps may read them
  // after the next barrier.
  __device__ void look_up(int first) const {
    const ThreadIndex index;
    static_assert(sizeof(SlicePages) == kSlicePagesBytes && kSlicesAtOnce == 32);
    if (index.warp == 0)
      store_shared_object(layout_.pages(first + index.lane), walk_.pages(first + index.lane));
  }
  template <int kAtOnce>
  __device__ void copy(int slot, int index) {
    if (index % kSlicesAtOnce == kSlicesAtOnce - 1) look_up(index + 1);
    if (index < walk_.count()) {
      SlicePages pages;
      load_shared_object(layout_.pages(index), pages);
      const SharedAddress slice = layout_.slice(slot);
      copy_k_.copy<kAtOnce>(slice, walk_.token(index), pages, readable_);
      copy_v_.copy<kAtOnce>(slice + Shape::kSliceBytesK, walk_.token(index), pages, readable_);
    }
    async_copy_commit();
  }

  paged::SliceWalkOf<Shape> walk_;
  Range readable_;
  paged::SliceCopyOf<Shape, Shape::kRowBytesK, 0> copy_k_;
  paged::SliceCopyOf<Shape, Shape::kRowBytesV, SlicePages::kTables - 1> copy_v_;
  SharedLayout layout_;
  int slot_ = 0;
};

}  // namespace cubinet::attention_decode_swapped
