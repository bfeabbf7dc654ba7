// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producer warpgroup of `attention_latent` if Q and KV are e4m3. It copies both as they are,
// and converts V from one part of shared memory to another one.
#include <cubinet/attention_latent/e4m3_layout.cuh>
#include <cubinet/attention_latent/producer.cuh>

namespace cubinet::attention_latent {

class E4m3Producer : private RowCopier {
 public:
  __device__ E4m3Producer(const AttentionDecodeParameters& p, const E4m3Layout& layout)
      : RowCopier(p), layout_(layout) {}

  __device__ void process(const WorkItem& item, const PackedRows& rows, const ItemTokens& tokens) {
    const int slices = tokens.steps();
    const GlobalAddress table = p_.page_table + 4 * (item.sequence.index * p_.page_table_stride);
    int pages[kRows];
    look_up(pages, table, tokens, 0);
    // Later, the first slice comes before Q, because its slot may be free before Q of the item
    // before.
    const bool q_first = is_first_ || slices == 0;
    is_first_ = false;
    if (q_first) copy_q(item.sequence, rows);
#pragma unroll 1
    for (int i = -kAhead; i < slices; ++i) {
      if (i + kAhead < slices) {
        copy_slice(pages, tokens, i + kAhead);
        look_up(pages, table, tokens, i + kAhead + 1);
      }
      if (i == -kAhead && !q_first) copy_q(item.sequence, rows);
      if (i >= 0) convert_v(number_ + i);
    }
    number_ += slices;
  }

 private:
  static constexpr int kAhead = e4m3_rows::kSlots - 1;  // slices that are copied before they are converted

  // Copies the thread's chunk of each block of a row of an operand, or zeros if the row does not
  // exist.
  __device__ void copy_row(int operand, int row, GlobalAddress source, bool exists) const {
    const SharedAddress target = layout_.operand(operand) + swizzled<kBlockRowBytes>(row, chunk_);
#pragma unroll
    for (int block = 0; block < e4m3_rows::kBlocks; ++block)
      async_copy_16_or_zero(target + block * e4m3_rows::kBlockBytes,
                            source + block * kBlockRowBytes + chunk_ * 16, exists);
    if (chunk_ < e4m3_rows::kRestElements / 16)
      async_copy_16_or_zero(
          layout_.rest(operand) + swizzled<kBlockRowBytes>(row, layout_.rest_chunk(operand) + chunk_),
          source + e4m3_rows::kBlocks * kBlockRowBytes + chunk_ * 16, exists);
  }

  __device__ void copy_q(const Sequence& sequence, const PackedRows& rows) {
    mbarrier_wait(layout_.q_empty(), q_phase_ ^ 1);
#pragma unroll 1
    for (int row = row_; row < tile_size_q; row += kRowsAtOnce)
      copy_row(E4m3Layout::kQ, row, q_row<dtype_q>(p_, sequence, rows, row), rows.holds(row));
    mbarrier_arrive_with_copies(layout_.q_full());
    q_phase_ ^= 1;
  }

  __device__ void copy_slice(const int (&pages)[kRows], const ItemTokens& tokens, int slice) const {
    const unsigned number = number_ + slice;
    const int slot = static_cast<int>(number % e4m3_rows::kSlots);
    mbarrier_wait(layout_.k_empty(slot), number / e4m3_rows::kSlots % 2 ^ 1);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int row = row_ + k * kRowsAtOnce;
      const int token = tokens.begin + slice * kSlice + row;
      copy_row(E4m3Layout::operand_of(slot), row, row_of_kv(pages[k], token), token < tokens.end);
    }
    mbarrier_arrive_with_copies(layout_.k_full(slot));
  }

  // Converts V of a slice, part by part, and releases the slice.
  __device__ void convert_v(unsigned number) const {
    const int slot = static_cast<int>(number % e4m3_rows::kSlots);
    mbarrier_wait(layout_.k_full(slot), number / e4m3_rows::kSlots % 2);
#pragma unroll 1
    for (int part = 0; part < 4; ++part) {
      mbarrier_wait(layout_.v_empty(part), number % 2 ^ 1);
      convert_part(slot, part);
      fence_async_proxy();
      arrive_of_warp(layout_.v_full(part));
    }
    arrive_of_warp(layout_.k_empty(slot));
  }
  __device__ static void arrive_of_warp(SharedAddress barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(barrier);
  }

  // A thread converts 16 elements of some rows and blocks. The chunks that eight threads read or
  // write together are in different banks: threads of the second half of a block write their second
  // chunk first.
  __device__ void convert_part(int slot, int part) const {
    constexpr int kBlocksOfPart = kColumns / kBlockRowBytes;
    constexpr int kChunks = e4m3_rows::kPartTokens / kRowsAtOnce * kBlocksOfPart;
    const int tokens = part / 2;
    const SharedAddress source =
        layout_.operand(E4m3Layout::operand_of(slot)) + part % 2 * kBlocksOfPart * e4m3_rows::kBlockBytes +
        tokens * e4m3_rows::kPartTokens * kBlockRowBytes + swizzled<kBlockRowBytes>(row_, chunk_);
    const int half = chunk_ / 4;
    const SharedAddress target = layout_.v(part) + half * e4m3_rows::kPartBlockBytes +
                                 swizzled<kBlockRowBytes>(row_, chunk_ % 4 * 2 + half);
    uint4 bits[kChunks];
#pragma unroll
    for (int i = 0; i < kChunks; ++i)
      bits[i] = load_shared_16(source + i % kBlocksOfPart * e4m3_rows::kBlockBytes +
                               i / kBlocksOfPart * kRowsAtOnce * kBlockRowBytes);
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const SharedAddress chunk = target + i % kBlocksOfPart * 2 * e4m3_rows::kPartBlockBytes +
                                  i / kBlocksOfPart * kRowsAtOnce * kBlockRowBytes;
      const bool second = half != 0;
      convert_e4m3(second ? bits[i].z : bits[i].x, second ? bits[i].w : bits[i].y, chunk);
      convert_e4m3(second ? bits[i].x : bits[i].z, second ? bits[i].y : bits[i].w, advanced(chunk, 1));
    }
  }

  const E4m3Layout& layout_;
  bool is_first_ = true;
  unsigned number_ = 0;  // of slices of earlier items
  unsigned q_phase_ = 0;
};

}  // namespace cubinet::attention_latent
