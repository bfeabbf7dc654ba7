// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producer warpgroup of `attention_latent_narrow`, which copies KV to shared memory.
#include <cubinet/async_copy.cuh>
#include <cubinet/attention_latent_narrow/layout.cuh>

namespace cubinet::attention_latent_narrow {

// Finds the work items of the CTA, sends them to the other warpgroups, and copies KV. It runs ahead
// into the next item. A thread copies one 16-byte chunk of each block of every sixteenth row.
class Producer {
 public:
  // Computes the division of work.
  __device__ Producer(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : p_(p),
        layout_(layout),
        writer_(layout),
        row_(threadIdx.x / 8),
        chunk_(threadIdx.x % 8),
        division_(with_lengths(p), static_cast<int>(blockIdx.x)) {}

  __device__ void run() {
    const WorkDivision& division = division_;
    if (division.begin() < division.end()) {
      WorkItem next = division.item(p_, division.begin());
      for (bool more = true; more;) {
        const WorkItem item = next;
        more = item.end < division.end();
        const SentItem sent{item, division.slot(p_, item), division.share()};
        const ItemTokens tokens(p_, item, WorkDivision::rows_of(p_, item));
        const int steps = tokens.steps();
        table_ = p_.page_table + 4 * (item.sequence.index * p_.page_table_stride);
        look_up(tokens, 0);
        writer_.send(sent);
#pragma unroll 1
        for (int i = 0;; ++i) {
          // These look-ups wait for memory several times, so they run while the ring is full.
          if (i == minimum(steps, kStepsAhead) && more) {
            next = division.next(p_, item);
            prefetch_q(next);
          }
          if (i == steps) break;
          copy(tokens, i);
        }
      }
    }
    writer_.send_end();
    async_copy_wait<0>();
  }

 private:
  static constexpr int kRowsAtOnce = kWarpgroup / 8;
  static constexpr int kRows = kSlice / kRowsAtOnce;
  static constexpr int kLookUps = page_size >= kSlice ? 1 : kRows;
  static constexpr int kStepsAhead = divide_up(stages, kParts) + 1;

  // Loads the lengths into the caches, all lines at once, because the division reads only a few at
  // a time.
  __device__ static const AttentionDecodeParameters& with_lengths(const AttentionDecodeParameters& p) {
    const int first = threadIdx.x % 32 * 32;
    if (p.batch > 32 && first < p.batch)
      load_global_constant_int(p.kv_lengths + 4ull * static_cast<unsigned>(first));
    return p;
  }

  __device__ void copy(const ItemTokens& tokens, int step) {
    const int token = tokens.begin + step * kSlice + row_;
    GlobalAddress sources[kRows];
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      sources[k] = p_.k + kElementBytes * (pages_[k * kLookUps / kRows] * p_.k_page_stride +
                                           (token + k * kRowsAtOnce & (page_size - 1)) * p_.k_token_stride);
    look_up(tokens, step + 1);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      mbarrier_wait(layout_.kv_empty(state_.index), state_.phase ^ 1);
      const SharedAddress target = layout_.kv(state_.index);
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const SharedAddress of_row =
            target + swizzled<kBlockRowBytes>(row_, chunk_) + k * kRowsAtOnce * kBlockRowBytes;
#pragma unroll
        for (int block = 0; block < kBlocksOfPart; ++block)
          async_copy_16_or_zero(of_row + block * kBlockBytes,
                                sources[k] + chunk_ * 16 + (part * kBlocksOfPart + block) * kBlockRowBytes,
                                token + k * kRowsAtOnce < tokens.end);
      }
      if constexpr (kTailRowBytes != 0) copy_tail(target + kBlocks * kBlockBytes, sources, token, tokens.end);
      mbarrier_arrive_with_copies(layout_.kv_full(state_.index));
      state_.advance();
    }
  }

  // Copies the last block, whose rows have four chunks instead of eight. Of the eight threads of a
  // row, four copy the chunks of that row and four those of the row kRowsAtOnce further on.
  __device__ void copy_tail(SharedAddress target, const GlobalAddress (&sources)[kRows], int token,
                            int end) const {
    const bool upper = chunk_ >= 4;
    const int chunk = chunk_ & 3;
#pragma unroll
    for (int k = 0; k < kRows; k += 2) {
      const int rows = (upper ? k + 1 : k) * kRowsAtOnce;
      async_copy_16_or_zero(target + swizzled<64>(row_, chunk) + rows * 64,
                            (upper ? sources[k + 1] : sources[k]) + kBlocks * kBlockRowBytes + chunk * 16,
                            token + rows < end);
    }
  }

  __device__ void look_up(const ItemTokens& tokens, int step) {
#pragma unroll
    for (int k = 0; k < kLookUps; ++k) {
      const int token = tokens.begin + step * kSlice + (kLookUps == 1 ? 0 : row_ + k * kRowsAtOnce);
      pages_[k] = paged::page_of_token<page_size>(table_, token, token < tokens.end);
    }
  }

  // Prefetches Q of the next work item to the L2 cache. The score warpgroup would otherwise wait
  // for it at the start of the item.
  __device__ void prefetch_q(const WorkItem& item) const {
    const PackedRows rows = WorkDivision::rows_of(p_, item);
#pragma unroll 1
    for (int row = row_; row < tile_size_q; row += kRowsAtOnce)
      for (int byte = chunk_ * 128; byte < head_dim_qk * int{sizeof(dtype_q)}; byte += 8 * 128)
        prefetch_to_l2(q_row<dtype_q>(p_, item.sequence, rows, row) + byte);
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  ItemWriter writer_;
  int row_;
  int chunk_;
  GlobalAddress table_ = 0;
  int pages_[kLookUps] = {};
  PipelineState<stages> state_;
  WorkDivision division_;
};

}  // namespace cubinet::attention_latent_narrow
