// SPDX-License-Identifier: Apache-2.0
#pragma once
// How blocks of a cluster of the template `attention_latent` bring KV that is not converted, each a half for both.
#include <cubinet/attention_latent_copy.cuh>
#include <cubinet/tensor_map.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention {

// The tensor maps of blocks, by multiprocessor, of which no device has so many. No two blocks are on one at a time:
// each has more than half of its shared memory.
constexpr int kTensorMaps = kClusterSize > 1 && !kConvertsKv ? 512 : 1;
static_assert(kSharedBytes > 114 * 1024, "a block has its multiprocessor for itself");
struct alignas(kTensorMapBytes) TensorMap {
  unsigned char bytes[kTensorMapBytes];
};
static __device__ TensorMap tensor_maps[kTensorMaps];

__device__ inline GlobalAddress own_tensor_map() {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  return static_cast<GlobalAddress>(__cvta_generic_to_global(&tensor_maps[multiprocessor % kTensorMaps]));
}

// As Copier. One warp brings the slices of which every token is read, a box of a page's rows and a block's columns at a
// time; of a last one that is shorter nothing else may be read, so that all bring it by 16 bytes.
class BoxCopier : private QCopier {
 public:
  __device__ BoxCopier(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : QCopier(p, layout), map_(own_tensor_map()) {
    constexpr int kBytes = sizeof(dtype_kv);
    // In Q's place, which no other block writes.
    if (brings_boxes()) {
      make_tensor_map(map_, layout.q(),
                      {p.k, head_dim_qk, page_size, 0x7fffffff, 1ull * kBytes * p.k_token_stride,
                       1ull * kBytes * p.k_page_stride, kBlockElements, kBoxRows});
    }
    synchronize_copies();
  }

  __device__ void piece(const Piece& piece, const PackedRows& rows, const PieceTokens& tokens) {
    const int slices = tokens.steps();
    const int whole = maximum(tokens.end - tokens.begin, 0) / kSlice;
    const GlobalAddress table = p_.page_table + 4 * (piece.sequence.index * p_.page_table_stride);
    const int first_page = brings_boxes() ? page_of_box(table, tokens, 0) : 0;
    int pages[kRows];
    if (whole < slices) look_up(pages, table, tokens, whole);
    copy_q(piece.sequence, rows);
    if (brings_boxes()) copy_boxes(first_page, table, tokens, whole);
    phases_ ^= ((whole + 1) / 2 & 1) | (whole / 2 & 1) << 1;
    if (whole < slices) copy_rest(pages, tokens, whole);
  }

 private:
  static constexpr int kBoxRows = minimum(page_size, kOwnTokens);
  static constexpr int kBoxes = kOwnTokens / kBoxRows;

  __device__ int thread() const { return threadIdx.x % kWarpgroup; }
  __device__ bool brings_boxes() const { return thread() < 32; }
  __device__ static void synchronize_copies() { synchronize_warps(10, kWarpgroup); }

  // Of a slice, the first of the thread's box.
  __device__ int token_of_box() const { return layout_.first_own_token() + thread() % kBoxes * kBoxRows; }
  __device__ int page_of_box(GlobalAddress table, const PieceTokens& tokens, int slice) const {
    const int token = tokens.begin + slice * kSlice + token_of_box();
    return token < tokens.end ? load_global_constant_int(table + 4ull * static_cast<unsigned>(token / page_size)) : 0;
  }

  // By a warp: the slices that are whole, of which each block brings a part for both. The next
  // but one is asked for in the L2.
  __device__ void copy_boxes(int page, GlobalAddress table, const PieceTokens& tokens, int slices) const {
    unsigned phases = phases_;
    int next = page_of_box(table, tokens, 1);
#pragma unroll 1
    for (int i = 0; i < slices; ++i) {
      const int slot = i & 1;
      const unsigned parity = (phases >> slot & 1) ^ 1;
      const int own_page = page;
      page = next;
      next = page_of_box(table, tokens, i + 2);
      if (i + 2 < slices && thread() < kBoxes) {
        const int row_ahead = (tokens.begin + (i + 2) * kSlice + token_of_box()) & (page_size - 1);
#pragma unroll
        for (int position = 0; position < kBlocksQk; ++position)
          prefetch_box(map_, block_at(position) * kBlockElements, row_ahead, next);
      }
      const int row = (tokens.begin + i * kSlice + token_of_box()) & (page_size - 1);
      const SharedAddress target = layout_.kv(slot) + token_of_box() * kBlockRowBytes;
#pragma unroll
      for (int position = 0; position < kBlocksQk; ++position) {
        const int block = block_at(position);
        const SharedAddress full = layout_.kv_full(slot, position / kBlocksOfGroup);
        layout_.await_place(slot, block, parity);
        if (position % kBlocksOfGroup == 0) {
          if (thread() == 0) mbarrier_arrive_expect_bytes(full, kBlocksOfGroup * kKvBlockBytes);
          __syncwarp();
        }
        if (thread() >= kBoxes) continue;
        bulk_copy_box_to((1 << kClusterSize) - 1, target + block * kKvBlockBytes, map_, block * kBlockElements, row,
                         own_page, full);
      }
      phases ^= 1u << slot;
    }
  }

  // The slice that is not whole, which each block brings for itself. All wait for the warp that has brought those
  // before: who is two phases behind cannot tell whether a place is free.
  __device__ void copy_rest(const int (&pages)[kRows], const PieceTokens& tokens, int slice) {
    const int slot = slice & 1;
    const unsigned parity = (phases_ >> slot & 1) ^ 1;
    const int token = tokens.begin + slice * kSlice + row_;
    const SharedAddress target = layout_.kv(slot) + swizzled<kBlockRowBytes>(row_, chunk_);
    synchronize_copies();
#pragma unroll 1
    for (int position = 0; position < kBlocksQk; ++position) {
      const int block = block_at(position);
      layout_.await_place(slot, block, parity);
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const int own = token + k * kRowsAtOnce;
        const GlobalAddress source =
            p_.k +
            sizeof(dtype_kv) * (pages[k] * p_.k_page_stride + (own & (page_size - 1)) * p_.k_token_stride) +
            block * kBlockRowBytes + chunk_ * 16;
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

}  // namespace cubinet::attention
