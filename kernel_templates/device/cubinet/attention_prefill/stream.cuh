// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pipeline of `attention_prefill`, which copies K and V to shared memory.
#include <cubinet/async_copy.cuh>
#include <cubinet/attention/rows.cuh>
#include <cubinet/attention_prefill/schedule.cuh>
#include <cubinet/attention_prefill/shape.cuh>
#include <cubinet/paged/row_copy.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention_prefill {

using Range = paged::TokenRange<sliding_window>;
using RowShare = paged::RowShareOf<Shape>;

// Returns the token of a step whose row this thread copies.
__device__ inline int own_token(int first, int i) {
  return first + static_cast<int>(threadIdx.x) / RowShare::kRowThreads + i * RowShare::kRowsAtOnce;
}

// The physical pages of a thread's rows of a step.
struct Pages {
  int page[RowShare::kRows];

  // Tokens outside `range` get page 0.
  __device__ static Pages look_up(const AttentionPrefillParameters& p, GlobalAddress entries, int first,
                                  const Range& range) {
    Pages pages = {};
#pragma unroll
    for (int i = 0; i < RowShare::kRows; ++i) {
      const int token = own_token(first, i);
      if (Shape::kPaged && range.holds(token))
        pages.page[i] =
            load_global_constant_int(entries + 4ull * static_cast<unsigned>(p.page_size.quotient(token)));
    }
    return pages;
  }
};

// Copies this thread's part of the rows of K or V, which have `kColumns` elements and are padded
// with zeros.
template <int kRowBytes, int kColumns>
class StepCopy {
 public:
  // `base` is the address of the head in the first page, or in the first token of the sequence.
  __device__ explicit StepCopy(GlobalAddress base) : base_(base + threadIdx.x % RowShare::kRowThreads * 16) {}

  // Copies the step that starts at token `first`. Tokens outside `range` become zeros and are not
  // read: unused pages and the rest of a page may hold anything, and NaN in V would make 0 * NaN =
  // NaN in P V.
  __device__ void copy(SharedAddress target, int first, const Pages& pages, const Range& range,
                       const kernel_templates::FastDivisor& page_size, long long page_stride,
                       long long token_stride) const {
#pragma unroll
    for (int i = 0; i < RowShare::kRows; ++i) {
      const int token = own_token(first, i);
      const bool valid = range.holds(token);
      GlobalAddress source = base_;
      if constexpr (Shape::kPaged) {
        source +=
            Shape::kElementBytes * (pages.page[i] * page_stride + page_size.remainder(token) * token_stride);
      } else {
        source += Shape::kElementBytes * (token * token_stride);
      }
      const int chunk = threadIdx.x % RowShare::kRowThreads;
      const SharedAddress row = target + swizzled<kRowBytes>(token - first, chunk);
#pragma unroll
      for (int part = 0; part < kRowBytes / 16; part += RowShare::kRowThreads) {
        if (part + RowShare::kRowThreads <= kRowBytes / 16 || chunk + part < kRowBytes / 16)
          async_copy_part_or_zero<kColumns * Shape::kElementBytes>(row + part * 16, source + part * 16,
                                                                   chunk + part, valid);
      }
    }
  }

 private:
  GlobalAddress base_;
};

// The steps of a tile, and the ring of stages. Each copy of K or V has a slot of its own, which is
// refilled when its successor in the sequence K, V, K, V, ... has arrived. For each step, all
// threads of the CTA call wait, copy_v, wait, copy_k and advance in this order.
class KvStream {
 public:
  // `seen` are the tokens that at least one row sees. Others are not read.
  __device__ KvStream(const AttentionPrefillParameters& p, const TileOf<Shape>& tile, const Range& seen,
                      SharedAddress ring)
      : p_(p),
        seen_(seen),
        first_((sliding_window ? seen.begin : 0) / Shape::kStep * Shape::kStep),
        count_(maximum(divide_up(seen.end - first_, Shape::kStep), 0)),
        table_(p.page_table + 4 * (tile.sequence.index * p.page_table_stride)),
        k_(base(p.k, p.k_outer_stride, p.k_token_stride, p.k_head_stride, tile, p)),
        v_(base(p.v, p.v_outer_stride, p.v_token_stride, p.v_head_stride, tile, p) +
           tile.column_part * Shape::kColumnsV * Shape::kElementBytes),
        ring_(ring) {}

  __device__ int count() const { return count_; }
  __device__ int token(int step) const { return first_ + step * Shape::kStep; }
  __device__ SharedAddress k_step() const { return k_slot(slot_); }
  __device__ SharedAddress v_step() const { return v_slot(slot_); }

  // Starts the copies of all slots but the last V.
  __device__ void fill() {
#pragma unroll 1
    for (int step = 0; step < stages; ++step) {
      pages_ = Pages::look_up(p_, table_, token(step), seen_);
      if constexpr (separate_page_tables) look_up_v(step);
      start_k(step, step);
      if (step + 1 < stages) start_v(step, step);
    }
  }

  // Blocks until the copies that this thread committed before `fill` are complete.
  __device__ void wait_for_earlier_copies() const {
    async_copy_wait<2 * stages - 1>();
  }

  // Blocks until the oldest copy is complete for all threads, and all threads have used the
  // previous slot.
  __device__ void wait() const {
    async_copy_wait<2 * stages - 2>();
    __syncthreads();
  }

  // Starts the copy of V of a step to the slot of the V that was used last.
  __device__ void copy_v(int step) {
    start_v(step, slot_ == 0 ? stages - 1 : slot_ - 1);
    pages_ = Pages::look_up(p_, table_, token(step + 1), seen_);
  }

  // Starts the copy of K of a step to the slot of the K that was used last.
  __device__ void copy_k(int step) {
    start_k(step, slot_);
    if constexpr (separate_page_tables) look_up_v(step);
  }

  __device__ void advance() {
    slot_ = slot_ + 1 == stages ? 0 : slot_ + 1;
  }

 private:
  __device__ static GlobalAddress base(GlobalAddress address, long long outer, long long token,
                                       long long head, const TileOf<Shape>& tile,
                                       const AttentionPrefillParameters& p) {
    long long first = tile.head_kv * head;
    if constexpr (!Shape::kPaged) {
      const int sequence = tile.sequence.index;
      first += p.kv_offsets != 0 ? load_global_constant_int(p.kv_offsets + 4ull * sequence) * token
                                 : sequence * outer;
    }
    return address + Shape::kElementBytes * first;
  }

  __device__ SharedAddress k_slot(int slot) const {
    return ring_ + slot * Shape::kStepBytesK;
  }
  __device__ SharedAddress v_slot(int slot) const {
    return ring_ + stages * Shape::kStepBytesK + slot * Shape::kStepBytesV;
  }

  __device__ void look_up_v(int step) {
    v_pages_ = Pages::look_up(p_, table_ + 4ll * p_.v_page_table_offset, token(step), seen_);
  }
  __device__ void start_k(int step, int slot) const {
    if (step < count_)
      k_.copy(k_slot(slot), token(step), pages_, seen_, p_.page_size, p_.k_outer_stride, p_.k_token_stride);
    async_copy_commit();
  }
  __device__ void start_v(int step, int slot) {
    const Pages& pages = separate_page_tables ? v_pages_ : pages_;
    if (step < count_)
      v_.copy(v_slot(slot), token(step), pages, seen_, p_.page_size, p_.v_outer_stride, p_.v_token_stride);
    async_copy_commit();
  }

  const AttentionPrefillParameters& p_;
  Range seen_;
  int first_;
  int count_;
  GlobalAddress table_;
  StepCopy<Shape::kRowBytesK, Shape::kColumnsQk> k_;
  StepCopy<Shape::kRowBytesV, Shape::kColumnsV> v_;
  SharedAddress ring_;
  int slot_ = 0;
  Pages pages_ = {};    // of the step whose K is copied next, until its V is copied too
  Pages v_pages_ = {};  // of the step whose V is copied next; used with separate page tables
};

}  // namespace cubinet::attention_prefill
