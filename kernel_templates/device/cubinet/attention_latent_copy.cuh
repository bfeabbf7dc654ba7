// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_latent` brings Q and KV into shared memory.
#include <cubinet/async_copy.cuh>
#include <cubinet/attention_latent_layout.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention {

// The warpgroup that copies. A thread has one chunk of 16 bytes of each block of some rows.
class Copier {
 public:
  __device__ Copier(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : p_(p), layout_(layout), row_(threadIdx.x % kWarpgroup / 8), chunk_(threadIdx.x % 8) {}

  __device__ void piece(const Piece& piece, const PackedRows& rows, const PieceTokens& tokens) {
    const int slices = tokens.steps();
    const GlobalAddress table = p_.page_table + 4 * (piece.sequence.index * p_.page_table_stride);
    int pages[kRows];
    look_up(pages, table, tokens, 0);
    copy_q(piece.sequence, rows);
    if (kClusterSize > 1 && row_ >= kRowsAtOnce) {
      if (row_ < kRowsAtOnce + 4) send(slices);
      return;
    }
#pragma unroll 1
    for (int i = 0; i < slices; ++i) {
      const int token = tokens.begin + i * kSlice + first_row();
      GlobalAddress sources[kRows];
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const int own = token + k * kRowsAtOnce;
        sources[k] =
            p_.k +
            sizeof(dtype_kv) * (pages[k] * p_.k_page_stride + (own & (page_size - 1)) * p_.k_token_stride) +
            chunk_ * 16;
      }
      look_up(pages, table, tokens, i + 1);
      const int slot = i & 1;
      const unsigned parity = (phases_ >> slot & 1) ^ 1;
      const SharedAddress target = layout_.kv(slot) + swizzled<kBlockRowBytes>(first_row(), chunk_);
#pragma unroll
      for (int position = 0; position < kBlocksQk; ++position) {
        const int block = block_at(position);
        layout_.await_place(slot, block, parity);
#pragma unroll
        for (int k = 0; k < kRows; ++k)
          async_copy_16_or_zero(target + block * kKvBlockBytes + k * kRowsAtOnce * kBlockRowBytes,
                                sources[k] + block * kBlockRowBytes,
                                token + k * kRowsAtOnce < tokens.end);
        if (position % kBlocksOfGroup == kBlocksOfGroup - 1)
          mbarrier_arrive_with_copies(layout_.copied(slot, position / kBlocksOfGroup));
      }
      phases_ ^= 1u << slot;
    }
  }

 private:
  static constexpr int kRowsAtOnce = kCopyingThreads / 8;
  static constexpr int kRows = kOwnTokens / kRowsAtOnce;
  static_assert(kRowsAtOnce % 8 == 0, "a thread's rows have one swizzle");

  // Of a slice, that the thread copies.
  __device__ int first_row() const { return layout_.first_own_token() + row_; }

  __device__ void look_up(int (&pages)[kRows], GlobalAddress table, const PieceTokens& tokens,
                          int slice) const {
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int token = tokens.begin + slice * kSlice + first_row() + k * kRowsAtOnce;
      pages[k] = token < tokens.end
                     ? load_global_constant_int(table + 4ull * static_cast<unsigned>(token / page_size))
                     : 0;
    }
  }

  // By a warp, to the other block of the cluster: the block's own part of each group, as soon as it is there. That its
  // place is free there too, those who copied have waited for.
  __device__ void send(int slices) {
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int i = 0; i < slices; ++i) {
      const int slot = i & 1;
#pragma unroll 1
      for (int group = 0; group < kGroups; ++group) {
        mbarrier_wait(layout_.copied(slot, group), phases_ >> slot & 1);
        fence_async_proxy();
        if (lane == 0) mbarrier_arrive_expect_bytes(layout_.kv_full(slot, group), kGroupBytesOfOthers);
        if (lane < kBlocksOfGroup) layout_.send(slot, group, lane, layout_.first_own_token(), kOwnTokens);
      }
      phases_ ^= 1u << slot;
    }
  }

  __device__ void copy_q(const Sequence& sequence, const PackedRows& rows) {
    mbarrier_wait(layout_.q_empty(), q_phase_ ^ 1);
#pragma unroll 1
    for (int row = row_; row < tile_size_q; row += kWarpgroup / 8) {
      const GlobalAddress source = q_row(p_, sequence, rows, row) + chunk_ * 16;
      const SharedAddress target = layout_.q() + swizzled<kBlockRowBytes>(row, chunk_);
#pragma unroll
      for (int block = 0; block < kBlocksQk; ++block)
        async_copy_16_or_zero(target + block * kQBlockBytes, source + block * kBlockRowBytes,
                              rows.holds(row));
    }
    mbarrier_arrive_with_copies(layout_.q_full());
    q_phase_ ^= 1;
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int row_;
  int chunk_;
  unsigned phases_ = 0;  // a bit of each slot
  unsigned q_phase_ = 0;
};

}  // namespace cubinet::attention
