// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transposes V of e4m3 for `attention_prefill_wgmma`, because the tensor cores read 8-bit operands
// along the tokens alone. Two warps do it, each for every other block of tokens.
#include <cubinet/attention_prefill_wgmma/loader.cuh>
#include <cubinet/mma.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention_prefill_wgmma {

// Transposes a step of V in blocks of 32 tokens and 16 columns: one warp's share of them. All lanes
// of the warp must call each function together.
//
// ldmatrix treats two adjacent columns as one element of 16 bits. Transposed, lane 4g + q gets the
// columns 2g and 2g + 1 of the tokens 2q and 2q + 1 of each matrix of 8 tokens. Two matrices give a
// word of column 2g and one of column 2g + 1, each with four tokens: the order in which pack() has
// the weights. The even columns of 16 are stored in 8 rows, the odd columns in the next 8, so that
// stmatrix has no bank conflicts. The tiles of the output have this order of columns (Epilogue).
class TransposerOfV {
 public:
  // `index` is the warp's, less than kTransposers.
  __device__ TransposerOfV(const SharedLayout& layout, int index) : layout_(layout), index_(index) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row = lane % 8;
    const int matrix = lane / 8;
    source_ = matrix * kGroupBytesV + swizzled<kBlockRowBytes>(row, 0);
    // The matrices are those of even and odd columns of the first 16 tokens, then of the others.
    target_ = swizzled<kBlockRowBytes>(matrix % 2 * 8 + row, matrix / 2);
  }

  // Transposes V of a stage. If kHasInvisible is true, rows that no query token sees become zero.
  template <bool kHasInvisible>
  __device__ void transpose(int stage, const InvisibleRows& invisible) const {
    const SharedAddress source = layout_.v(stage) + source_;
    const SharedAddress target = layout_.transposed_v(stage) + target_;
#pragma unroll 1
    for (int part = index_; part < kStep / kTokens; part += kTransposers) {
      const SharedAddress rows = source + part * (kTokens / kGroupRows) * kGroupBytesV;
      const SharedAddress columns =
          advanced(target, part % 4 * 2) + part / 4 * static_cast<unsigned>(kTransposedBlockBytes);
      unsigned masks[4];
      if constexpr (kHasInvisible) set_masks(masks, invisible, part * kTokens);
#pragma unroll 1
      for (int first = 0; first < kChunks; first += kAtOnce) {
        unsigned loaded[kAtOnce][4];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
          load_matrix_x4_transposed(loaded[i],
                                    advanced(rows, (first + i) % 8) + (first + i) / 8 * kKvBlockBytes);
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          unsigned(&r)[4] = loaded[i];
          if constexpr (kHasInvisible) {
#pragma unroll
            for (int matrix = 0; matrix < 4; ++matrix)
              r[matrix] &= masks[matrix];
          }
          const unsigned words[4] = {__byte_perm(r[0], r[1], 0x6420), __byte_perm(r[0], r[1], 0x7531),
                                     __byte_perm(r[2], r[3], 0x6420), __byte_perm(r[2], r[3], 0x7531)};
          store_matrix_x4(columns + (first + i) * 16 * kBlockRowBytes, words);
        }
      }
    }
  }

 private:
  static constexpr int kTokens = 32;               // of a block
  static constexpr int kChunks = head_dim_v / 16;  // blocks of columns
  // Blocks whose loads are in flight together. The producers of three consumers lack the registers
  // for more, and so do those of steps of 96 tokens, of which the warps have unequal shares.
  static constexpr int kAtOnce = kConsumers == 3 || kStep < 128 ? 2 : 4;

  // Sets the masks of the visible tokens of a block, which begins at row `first` of the step. The
  // lane has two tokens of each matrix of 8.
  __device__ static void set_masks(unsigned (&masks)[4], const InvisibleRows& invisible, int first) {
    const int own = first + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int matrix = 0; matrix < 4; ++matrix) {
      masks[matrix] = 0;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = own + matrix * 8 + i;
        if (row >= invisible.begin && row < invisible.end) masks[matrix] |= 0xffffu << (16 * i);
      }
    }
  }

  const SharedLayout& layout_;
  int index_;
  unsigned source_;  // the lane's offsets in a stage
  unsigned target_;
};

// Transposes a warp's share of V of all tiles of the CTA. All lanes of the warp must call it.
__device__ inline void transpose_tiles(const AttentionPrefillParameters& p, const SharedLayout& layout,
                                       int index) {
  const TransposerOfV transposer(layout, index);
  Phases loaded;
  Phases transposed;
  TileReader tiles(layout);
  int stage = 0;
#pragma unroll 1
  while (tiles.next()) {
    const Tile tile = tiles.tile();
    tiles.release();
#pragma unroll 1
    for (int step = tile.first_step; step < tile.first_step + tile.steps; ++step, stage ^= 1) {
      mbarrier_wait(layout.v_unclean(stage), loaded.parity(stage));
      loaded.end(stage);
      mbarrier_wait(layout.v_empty(stage), transposed.parity(stage) ^ 1);
      transposed.end(stage);
      const InvisibleRows invisible(p, tile, step);
      if (invisible.any()) {
        transposer.transpose<true>(stage, invisible);
      } else {
        transposer.transpose<false>(stage, invisible);
      }
      fence_async_proxy();
      __syncwarp();
      if (threadIdx.x % 32 == 0) mbarrier_arrive(layout.v_full(stage));
      release_in_cluster(layout.v_transposed(stage));
    }
  }
}

}  // namespace cubinet::attention_prefill_wgmma
