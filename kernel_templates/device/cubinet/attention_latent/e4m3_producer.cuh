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
    const KPlace place(number_ + slice);
    mbarrier_wait(layout_.k_empty(place.slot), place.phase ^ 1);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int row = row_ + k * kRowsAtOnce;
      const int token = tokens.begin + slice * kSlice + row;
      copy_row(E4m3Layout::operand_of(place.slot), row, row_of_kv(pages[k], token), token < tokens.end);
    }
    mbarrier_arrive_with_copies(layout_.k_full(place.slot));
  }

  // A thread converts 16 elements of each block of one row of a part.
  static constexpr int kChunks = kColumns / kBlockRowBytes;
  static_assert(e4m3_rows::kPartTokens == kRowsAtOnce);
  using Chunks = uint4[kChunks];

  // Converts V of a slice, part by part, and releases the slice.
  __device__ void convert_v(unsigned number) const {
    const KPlace place(number);
    mbarrier_wait(layout_.k_full(place.slot), place.phase);
    Chunks chunks[2];
    load(chunks[0], place.slot, 0);
#pragma unroll
    for (int part = 0; part < e4m3_rows::kParts; ++part) {
      if (part + 1 < e4m3_rows::kParts) load(chunks[(part + 1) % 2], place.slot, part + 1);
      mbarrier_wait(layout_.v_empty(part), number % 2 ^ 1);
      store(chunks[part % 2], part);
      fence_async_proxy();
      arrive_of_warp(layout_.v_full(part));
    }
    arrive_of_warp(layout_.k_empty(place.slot));
  }
  __device__ static void arrive_of_warp(SharedAddress barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(barrier);
  }

  // Loads the thread's elements of a part.
  __device__ void load(Chunks& chunks, int slot, int part) const {
    const SharedAddress source =
        layout_.operand(E4m3Layout::operand_of(slot)) + swizzled<kBlockRowBytes>(row_, chunk_) +
        part % 2 * kChunks * e4m3_rows::kBlockBytes + part / 2 * e4m3_rows::kPartTokens * kBlockRowBytes;
#pragma unroll
    for (int i = 0; i < kChunks; ++i)
      chunks[i] = load_shared_16(source + i * e4m3_rows::kBlockBytes);
  }
  // Converts and stores them. The chunks that eight threads read or write together are in different
  // banks: threads of the second half of a block write their second chunk first.
  __device__ void store(const Chunks& chunks, int part) const {
    const int half = chunk_ / 4;
    const bool is_second = half != 0;
    const SharedAddress target = layout_.v(part) + half * e4m3_rows::kPartBlockBytes +
                                 swizzled<kBlockRowBytes>(row_, chunk_ % 4 * 2 + half);
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const SharedAddress chunk = target + i * 2 * e4m3_rows::kPartBlockBytes;
      const uint4 bits = chunks[i];
      convert_e4m3(is_second ? bits.z : bits.x, is_second ? bits.w : bits.y, chunk);
      convert_e4m3(is_second ? bits.x : bits.z, is_second ? bits.y : bits.w, advanced(chunk, 1));
    }
  }

  const E4m3Layout& layout_;
  bool is_first_ = true;
  unsigned number_ = 0;  // of slices of earlier items
  unsigned q_phase_ = 0;
};

}  // namespace cubinet::attention_latent
