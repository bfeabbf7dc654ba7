// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producer warpgroup of `attention_latent` in a cluster, if KV is not converted. Each CTA
// copies half of a slice to both CTAs with TMA.
#include <cubinet/attention_latent/producer.cuh>
#include <cubinet/paged/tensor_maps.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_latent {

static_assert(kSharedBytes > 114 * 1024, "a CTA has its SM, and so its tensor map, for itself");

// Copies Q and KV. The first warp copies the slices of which every token is read, as boxes of the
// rows of a page and the columns of a block. The others copy Q, and the second one then prefetches
// later slices. All warps copy a shorter last slice in chunks of 16 bytes, because no token after
// its end may be read.
class BoxProducer : private QProducer<kQCopyThreads> {
 public:
  // Makes the tensor map in `memory`, the shared memory of Q, to which no other CTA writes. The
  // groups of the tensor are pages. The warp that copies boxes must call it, before all threads of
  // the cluster wait for each other. It reads no memory that an earlier kernel may write.
  __device__ static void make_map(const AttentionDecodeParameters& p, SharedAddress memory) {
    constexpr int kBytes = sizeof(dtype_kv);
    make_tensor_map(paged::own_tensor_map(), memory,
                    {p.k, head_dim_qk, page_size, 0x7fffffff, 1ull * kBytes * p.k_token_stride,
                     1ull * kBytes * p.k_page_stride, kBlockElements, kBoxRows});
  }
  __device__ static bool copies_boxes() { return threadIdx.x < 32; }

  __device__ BoxProducer(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : QProducer(p, layout), map_(paged::own_tensor_map()) {}

  __device__ void process(const WorkItem& item, const PackedRows& rows, const ItemTokens& tokens) {
    const int slices = tokens.steps();
    const int whole = maximum(tokens.end - tokens.begin, 0) / kSlice;
    const GlobalAddress table = p_.page_table + 4 * (item.sequence.index * p_.page_table_stride);
    int pages[kRows];
    if (whole < slices) look_up(pages, table, tokens, whole);
    if (copies_boxes()) {
      copy_boxes(table, tokens, whole);
    } else {
      copy_q(item.sequence, rows, thread() - 32);
      if (thread() < 64) prefetch_rows(table, tokens, whole);
    }
    phases_ ^= ((whole + 1) / 2 & 1) | (whole / 2 & 1) << 1;
    if (whole < slices) copy_rest(pages, tokens, whole);
  }

 private:
  static constexpr int kBoxRows = minimum(page_size, kOwnTokens);
  static constexpr int kBoxes = kOwnTokens / kBoxRows;
  static constexpr int kSlicesAhead = 2;

  __device__ int thread() const { return threadIdx.x % kWarpgroup; }
  __device__ static void synchronize_copies() { synchronize_warps(10, kWarpgroup); }
  __device__ static void synchronize_prefetch() { synchronize_warps(11, 64); }

  // Returns the first token of the thread's box, relative to the slice.
  __device__ int token_of_box() const { return layout_.first_own_token() + thread() % kBoxes * kBoxRows; }
  __device__ int page_of(GlobalAddress table, const ItemTokens& tokens, int token) const {
    return paged::page_of_token<page_size>(table, token, token < tokens.end);
  }
  __device__ int page_of_box(GlobalAddress table, const ItemTokens& tokens, int slice) const {
    return page_of(table, tokens, tokens.begin + slice * kSlice + token_of_box());
  }

  // Copies the whole slices with one warp.
  __device__ void copy_boxes(GlobalAddress table, const ItemTokens& tokens, int slices) const {
    unsigned phases = phases_;
    int next = page_of_box(table, tokens, 0);
#pragma unroll 1
    for (int i = 0; i < slices; ++i) {
      const int slot = i & 1;
      const unsigned parity = (phases >> slot & 1) ^ 1;
      const int page = next;
      next = page_of_box(table, tokens, i + 1);
      const int row = (tokens.begin + i * kSlice + token_of_box()) & (page_size - 1);
      const SharedAddress target = layout_.kv(slot) + token_of_box() * kBlockRowBytes;
#pragma unroll
      for (int position = 0; position < kBlocksQk; ++position) {
        const int block = block_at(position);
        const SharedAddress full = layout_.kv_full(slot, position / kBlocksOfGroup);
        // The warp waits for the slot of the next block anyway.
        if (position == 1 && i >= kSlicesAhead && i + kSlicesAhead < slices) synchronize_prefetch();
        layout_.wait_for_slot(slot, block, parity);
        if (position % kBlocksOfGroup == 0) {
          if (thread() == 0) mbarrier_arrive_expect_bytes(full, kBlocksOfGroup * kKvBlockBytes);
          __syncwarp();
        }
        if (thread() >= kBoxes) continue;
        bulk_copy_box_to((1 << kClusterSize) - 1, target + block * kKvBlockBytes, map_,
                         block * kBlockElements, row, page, full);
      }
      phases ^= 1u << slot;
    }
  }

  // Prefetches the rows of later slices to the L2 cache with one warp: the first ones at once, each
  // other one when the warp that copies boxes has begun the slice kSlicesAhead before it. That warp
  // waits for this one, which could miss two phases of a slot otherwise and would wait forever.
  __device__ void prefetch_rows(GlobalAddress table, const ItemTokens& tokens, int slices) const {
    static_assert(kClusterSize == 1 || kOwnTokens <= 32, "a lane has one row of a slice");
    const int own = layout_.first_own_token() + thread() % 32;
    int next = page_of(table, tokens, tokens.begin + kSlicesAhead * kSlice + own);
#pragma unroll 1
    for (int i = 0; i + kSlicesAhead < slices; ++i) {
      const int token = tokens.begin + (i + kSlicesAhead) * kSlice + own;
      const int page = next;
      next = page_of(table, tokens, token + kSlice);
      if (i >= kSlicesAhead) synchronize_prefetch();
      prefetch_bytes_to_l2(row_of_kv(page, token), head_dim_qk * sizeof(dtype_kv));
    }
  }

  // Copies the partial slice, which each CTA does for itself. All warps wait for the warp that
  // copied the slices before it: a warp two phases behind could not tell whether a slot is free.
  __device__ void copy_rest(const int (&pages)[kRows], const ItemTokens& tokens, int slice) {
    const int slot = slice & 1;
    const unsigned parity = (phases_ >> slot & 1) ^ 1;
    const int token = tokens.begin + slice * kSlice + row_;
    const SharedAddress target = layout_.kv(slot) + swizzled<kBlockRowBytes>(row_, chunk_);
    synchronize_copies();
#pragma unroll 1
    for (int position = 0; position < kBlocksQk; ++position) {
      const int block = block_at(position);
      layout_.wait_for_slot(slot, block, parity);
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const int own = token + k * kRowsAtOnce;
        const GlobalAddress source = row_of_kv(pages[k], own) + block * kBlockRowBytes + chunk_ * 16;
        async_copy_16_or_zero(target + block * kKvBlockBytes + k * kRowsAtOnce * kBlockRowBytes, source,
                              own < tokens.end);
      }
    }
    async_copy_commit();
    async_copy_wait<0>();
    fence_async_proxy();
    synchronize_copies();
    if (thread() < kGroups) mbarrier_arrive(layout_.kv_full(slot, thread()));
    phases_ ^= 1u << slot;
  }

  GlobalAddress map_;
};

}  // namespace cubinet::attention_latent
