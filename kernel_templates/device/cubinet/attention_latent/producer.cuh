// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producer warpgroup of `attention_latent`, which copies Q and KV to shared memory.
#include <cubinet/async_copy.cuh>
#include <cubinet/attention_latent/layout.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention_latent {

// Converts eight elements of e4m3 and stores them.
__device__ inline void convert_e4m3(unsigned first, unsigned second, SharedAddress target) {
  const Fp16Pairs a = unpack4_e4m3(first);
  const Fp16Pairs b = unpack4_e4m3(second);
  store_shared_16(target, {a.low, a.high, b.low, b.high});
}

// The rows of a thread, which copies one 16-byte chunk of each block of some rows, of Q and of KV.
class RowCopier {
 protected:
  __device__ explicit RowCopier(const AttentionDecodeParameters& p)
      : p_(p), row_(threadIdx.x % kWarpgroup / 8), chunk_(threadIdx.x % 8) {}

  static constexpr int kRowsAtOnce = kWarpgroup / 8;
  static constexpr int kRows = kSlice / kRowsAtOnce;
  static_assert(kRowsAtOnce % 8 == 0, "a thread's rows have one swizzle");

  // Looks up the pages of the thread's rows of a slice.
  __device__ void look_up(int (&pages)[kRows], GlobalAddress table, const ItemTokens& tokens,
                          int slice) const {
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int token = tokens.begin + slice * kSlice + row_ + k * kRowsAtOnce;
      pages[k] = paged::page_of_token<page_size>(table, token, token < tokens.end);
    }
  }

  // Returns the address of the row of a token.
  __device__ GlobalAddress row_of_kv(int page, int token) const {
    return p_.k +
           sizeof(dtype_kv) * (page * p_.k_page_stride + (token & (page_size - 1)) * p_.k_token_stride);
  }

  const AttentionDecodeParameters& p_;
  int row_;
  int chunk_;
};

// Copies Q of 16-bit elements with kThreads threads.
template <int kThreads>
class QProducer : protected RowCopier {
 protected:
  __device__ QProducer(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : RowCopier(p), layout_(layout) {}

  // `thread` is the index of this thread among those that copy Q.
  __device__ void copy_q(const Sequence& sequence, const PackedRows& rows, int thread) {
    mbarrier_wait(layout_.q_empty(), q_phase_ ^ 1);
#pragma unroll 1
    for (int row = thread / 8; row < tile_size_q; row += kThreads / 8) {
      const GlobalAddress source = q_row<dtype_q>(p_, sequence, rows, row) + chunk_ * 16;
      const SharedAddress target = layout_.q() + swizzled<kBlockRowBytes>(row, chunk_);
#pragma unroll
      for (int block = 0; block < kBlocksQk; ++block)
        async_copy_16_or_zero(target + block * kQBlockBytes, source + block * kBlockRowBytes,
                              rows.holds(row));
    }
    mbarrier_arrive_with_copies(layout_.q_full());
    q_phase_ ^= 1;
  }

  const SharedLayout& layout_;
  unsigned phases_ = 0;  // one bit for each slot
  unsigned q_phase_ = 0;
};

class Producer : private QProducer<kWarpgroup> {
 public:
  __device__ Producer(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : QProducer(p, layout) {}

  __device__ void process(const WorkItem& item, const PackedRows& rows, const ItemTokens& tokens) {
    const int slices = tokens.steps();
    const GlobalAddress table = p_.page_table + 4 * (item.sequence.index * p_.page_table_stride);
    int pages[kRows];
    look_up(pages, table, tokens, 0);
    // Later, the first slice comes before Q, because its slot may be free before Q of the item
    // before.
    const bool q_first = is_first_ || slices == 0;
    is_first_ = false;
    if (q_first) copy_q(item.sequence, rows, threadIdx.x % kWarpgroup);
#pragma unroll 1
    for (int i = 0; i < slices; ++i) {
      const int token = tokens.begin + i * kSlice;
      GlobalAddress sources[kRows];
#pragma unroll
      for (int k = 0; k < kRows; ++k)
        sources[k] = row_of_kv(pages[k], token + row_ + k * kRowsAtOnce) + chunk_ * 16;
      look_up(pages, table, tokens, i + 1);
      const int slot = i & 1;
      const unsigned parity = (phases_ >> slot & 1) ^ 1;
      const SharedAddress target = layout_.kv(slot) + swizzled<kBlockRowBytes>(row_, chunk_);
#pragma unroll
      for (int position = 0; position < kBlocksQk; ++position) {
        const int block = block_at(position);
        layout_.wait_for_slot(slot, block, parity);
#pragma unroll
        for (int k = 0; k < kRows; ++k)
          async_copy_16_or_zero(target + block * kKvBlockBytes + k * kRowsAtOnce * kBlockRowBytes,
                                sources[k] + block * kBlockRowBytes,
                                token + row_ + k * kRowsAtOnce < tokens.end);
        if (position % kBlocksOfGroup == kBlocksOfGroup - 1)
          mbarrier_arrive_with_copies(layout_.kv_full(slot, position / kBlocksOfGroup));
      }
      phases_ ^= 1u << slot;
      if (i == 0 && !q_first) copy_q(item.sequence, rows, threadIdx.x % kWarpgroup);
    }
  }

 private:
  bool is_first_ = true;
};

}  // namespace cubinet::attention_latent
