// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipeline of `attention_wide`, which copies K and V to shared memory.
#include <cubinet/attention/rows.cuh>
#include <cubinet/attention_wide/shape.cuh>
#include <cubinet/paged/row_copy.cuh>

namespace cubinet::attention_wide {

using Range = paged::TokenRange<sliding_window>;
using RowPages = paged::RowPagesOf<Shape>;

// The steps of a work item, and their rings. K is copied kLead steps before V, because it is used
// kLead steps earlier. Latent attention copies a step once as K and V, and keeps it in its single
// ring for these kLead steps too.
class WideStream {
 public:
  // `range` is the token range of the work item. Tokens before `oldest` are outside the window of
  // every row and are not read.
  __device__ WideStream(const AttentionDecodeParameters& p, int batch, int head_kv, const Range& range,
                        int oldest, SharedAddress ring)
      : table_(p.page_table + 4 * (batch * p.page_table_stride)),
        v_table_offset_(4ll * p.v_page_table_offset),
        first_(range.begin),
        count_(maximum(divide_up(range.end - range.begin, tile_size_kv), 0)),
        readable_{maximum(range.begin, oldest), range.end},
        copy_k_(p.k, {p.k_page_stride, p.k_token_stride, p.k_head_stride}, head_kv),
        copy_v_(p.v, {p.v_page_stride, p.v_token_stride, p.v_head_stride}, head_kv),
        ring_(ring) {}

  __device__ int count() const { return count_; }
  __device__ int token(int step) const { return first_ + step * tile_size_kv; }

  __device__ void fill() {
    next_pages_ = pages(0, 0);
#pragma unroll 1
    for (int i = 0; i < kAhead; ++i)
      copy_next();
  }

  // Blocks until the copies of this thread for the next step are complete. A barrier must follow.
  __device__ void wait() const {
    async_copy_wait<kAhead - 1>();
  }
  // Refills the slots that the previous step read.
  __device__ void release() {
    copy_next();
  }

  // The step of k_step() is kLead steps after that of v_step().
  __device__ SharedAddress k_step() const {
    return ring_ + k_slot_ * kStepBytesK;
  }
  __device__ SharedAddress v_step() const {
    const int slot = k_slot_ < kLead ? k_slot_ - kLead + stages : k_slot_ - kLead;
    return kLatent ? ring_ + slot * kStepBytesK : ring_ + stages * kStepBytesK + slot * kStepBytesV;
  }
  __device__ void advance() {
    k_slot_ = next_slot(k_slot_);
  }

 private:
  // The steps that are in flight before the first is used. The ring of latent attention keeps kLead
  // more slots.
  static constexpr int kAhead = stages - 1 - (kLatent ? kLead : 0);

  __device__ static int next_slot(int slot) {
    return slot + 1 == stages ? 0 : slot + 1;
  }

  __device__ RowPages pages(int step, long long offset) const {
    return RowPages::look_up(table_ + offset, token(step), readable_);
  }

  __device__ void copy_next() {
    const RowPages k_pages = next_pages_;
    next_pages_ = pages(copied_ + 1, 0);  // a step ahead of its use, to hide the latency
    if (copied_ < count_) copy_k_.copy(ring_ + slot_ * kStepBytesK, token(copied_), k_pages, readable_);
    if constexpr (!kLatent) {
      const int v = copied_ - kLead;
      const RowPages v_pages = next_v_pages_;
      next_v_pages_ = pages(v + 1, separate_page_tables ? v_table_offset_ : 0);
      if (v >= 0) {
        if (v < count_)
          copy_v_.copy(ring_ + stages * kStepBytesK + v_slot_ * kStepBytesV, token(v), v_pages, readable_);
        v_slot_ = next_slot(v_slot_);
      }
    }
    async_copy_commit();
    ++copied_;
    slot_ = next_slot(slot_);
  }

  GlobalAddress table_;
  long long v_table_offset_;
  int first_;
  int count_;
  Range readable_;
  paged::RowCopyOf<Shape, Shape::kRowBytesK> copy_k_;
  paged::RowCopyOf<Shape, Shape::kRowBytesV> copy_v_;
  SharedAddress ring_;
  int copied_ = 0;  // steps of K copied
  int slot_ = 0;    // slot of the next K
  int v_slot_ = 0;  // slot of the next V
  int k_slot_ = 0;  // slot of k_step()
  RowPages next_pages_ = {};
  RowPages next_v_pages_ = {};
};

}  // namespace cubinet::attention_wide
