// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads of `attention_prefill_wgmma`. One warp copies Q, K and V with TMA. Another warp sets the
// rows of V to zero that no query token sees.
#include <cubinet/attention_prefill_wgmma/layout.cuh>
#include <cubinet/tensor_map.cuh>

namespace cubinet::attention_prefill_wgmma {

// The rows of a step of V that must be zero: a weight of zero times NaN would be NaN.
struct InvisibleRows {
  int begin;  // rows before it, and from `end` on, are invisible
  int end;

  __device__ InvisibleRows(const AttentionPrefillParameters& p, const Tile& tile, int step)
      : begin(0), end(tile.kv_len - step * kStep) {
    if constexpr (sliding_window) begin = tile.prefix() + 1 - p.window - step * kStep;
  }
  __device__ bool any() const { return begin > 0 || end < kStep; }
};

// Copies Q, K and V. All lanes of one warp must call each function together.
class Loader {
 public:
  __device__ Loader(const AttentionPrefillMapParameters& maps, const SharedLayout& layout)
      : maps_(maps),
        p_(maps.p),
        layout_(layout),
        pieces_(kPaged ? kStep / maps.p.box_tokens : 1),
        piece_(lane() % pieces_),
        block_(lane() / pieces_) {}

  // Copies everything of the reader's tile.
  __device__ void load(const TileReader& tiles) {
    const Tile tile = tiles.tile();
    const Source source(p_, tile);
    int page = page_of(source, tile.first_step, 0);
    int next_page = kLooksFarAhead ? page_of(source, tile.first_step + 1, 0) : 0;
    if (tile.steps == 0) return tiles.release();
    load_k(source, tile.first_step, 0, page);
    load_q(tiles.tile());
#pragma unroll 1
    for (int i = 0; i < tile.steps; ++i) {
      // The next tile is found late, so that the CTAs end at about the same time, but early enough
      // to be known in time.
      if (i == maximum(tile.steps - 2, 0)) tiles.release();
      const int step = tile.first_step + i;
      int page_after = 0;
      if constexpr (kLooksFarAhead) {
        page_after = page_of(source, step + 2, 0);
      } else {
        next_page = page_of(source, step + 1, 0);
      }
      const int v_page = separate_page_tables ? page_of(source, step, p_.v_page_table_offset) : page;
      if (i + 1 < tile.steps) load_k(source, step + 1, (i + 1) % stages, next_page);
      load_v(tile, source, step, i % stages, v_page);
      page = next_page;
      if constexpr (kLooksFarAhead) next_page = page_after;
    }
  }

 private:
  // If true, pages are looked up two steps ahead, not one: a look-up takes about 700 cycles. The
  // producer of three consumers lacks the registers.
  static constexpr bool kLooksFarAhead = kConsumers < 3;

  // The location of the KV of a tile.
  struct Source {
    int head;
    int kv_len;
    int first;            // contiguous: index of the first token in the map
    int outer;            // contiguous: index of the sequence in the map
    GlobalAddress table;  // paged: page table entries

    __device__ Source(const AttentionPrefillParameters& p, const Tile& tile)
        : head(p.group.quotient(tile.head)), kv_len(tile.kv_len), first(0), outer(tile.sequence), table(0) {
      if constexpr (kPaged) {
        table = p.page_table + 4 * (tile.sequence * p.page_table_stride);
      } else if (p.kv_offsets != 0) {
        first = load_global_constant_int(p.kv_offsets + 4ull * static_cast<unsigned>(tile.sequence));
        outer = 0;
      }
    }
  };

  __device__ static int lane() {
    return static_cast<int>(threadIdx.x) % 32;
  }

  // Returns the first token of the lane's piece of a step.
  __device__ int own_token(int step) const {
    return step * kStep + (kPaged ? piece_ * p_.box_tokens : 0);
  }

  // Returns the page of the lane's piece of a step. Pieces after the last token get a page that
  // does not exist, which is read as zeros.
  __device__ int page_of(const Source& source, int step, int table_offset) const {
    if constexpr (!kPaged) return source.outer;
    const int token = own_token(step);
    if (token >= source.kv_len) return -1;
    const int entry = p_.page_size.quotient(token) + table_offset;
    return load_global_constant_int(source.table + 4ll * entry);
  }

  template <int kBlocks>
  __device__ void copy(const void* map, SharedAddress target, const Source& source, int step, int page,
                       SharedAddress full) const {
    const int token = own_token(step);
    const int row = kPaged ? p_.page_size.remainder(token) : source.first + token;
    if constexpr (kPaged) target += piece_ * p_.box_tokens * kBlockRowBytes;
#pragma unroll 1
    for (int block = block_; block < kBlocks; block += 32 / pieces_) {
      if (block_ < 32 / pieces_)
        copy_box(target + block * kKvBlockBytes, map, block * kBlockElements, row, source.head, page, full);
    }
  }

  __device__ void load_k(const Source& source, int step, int stage, int page) {
    mbarrier_wait(layout_.k_empty(stage), phases_.parity(stage) ^ 1);
    phases_.end(stage);
    const SharedAddress full = layout_.k_full(stage);
    if (lane() == 0) mbarrier_arrive_expect_bytes(full, kStageBytesK);
    __syncwarp();
    copy<kBlocksQk>(&maps_.k, layout_.k(stage), source, step, page, full);
  }
  __device__ void load_v(const Tile& tile, const Source& source, int step, int stage, int page) {
    mbarrier_wait(layout_.v_empty(stage), phases_.parity(stages + stage) ^ 1);
    phases_.end(stages + stage);
    const SharedAddress full =
        InvisibleRows(p_, tile, step).any() ? layout_.v_unclean(stage) : layout_.v_full(stage);
    if (lane() == 0) mbarrier_arrive_expect_bytes(full, kStageBytesV);
    __syncwarp();
    copy<kBlocksV>(&maps_.v, layout_.v(stage), source, step, page, full);
  }
  __device__ void load_q(const Tile& tile) {
    mbarrier_wait(layout_.q_empty(), phases_.parity(2 * stages) ^ 1);
    phases_.end(2 * stages);
    const SharedAddress full = layout_.q_full();
    if (lane() == 0) {
      const int rows = tile_size_q / p_.tile_heads.divisor * p_.tile_heads.divisor;
      mbarrier_arrive_expect_bytes(full, static_cast<unsigned>(kBlocksQk * kBlockRowBytes * rows));
    }
    __syncwarp();
    const bool ragged = p_.q_offsets != 0;
    if (lane() < kBlocksQk)
      copy_box(layout_.q() + lane() * kQBlockBytes, &maps_.q, lane() * kBlockElements, tile.head,
               tile.q_token + (ragged ? tile.q_first : 0), ragged ? 0 : tile.sequence, full);
  }

  const AttentionPrefillMapParameters& maps_;
  const AttentionPrefillParameters& p_;
  const SharedLayout& layout_;
  int pieces_;  // boxes of a block of a step
  int piece_;   // the lane's box, and its first block
  int block_;
  Phases phases_;  // of the stages of K, then of V, then of Q
};

// Copies all tiles of the CTA. All lanes of one warp must call it.
__device__ inline void load_tiles(const AttentionPrefillMapParameters& maps, const SharedLayout& layout) {
  Loader loader(maps, layout);
  TileReader tiles(layout);
#pragma unroll 1
  while (tiles.next())
    loader.load(tiles);
}

// Sets invisible rows of V to zero, in all tiles of the CTA. All lanes of one warp must call it.
__device__ inline void clean_tiles(const AttentionPrefillParameters& p, const SharedLayout& layout) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Phases unclean;
  TileReader tiles(layout);
#pragma unroll 1
  while (tiles.next()) {
    const Tile tile = tiles.tile();
    tiles.release();
#pragma unroll 1
    for (int i = 0; i < tile.steps; ++i) {
      const InvisibleRows invisible(p, tile, tile.first_step + i);
      if (!invisible.any()) continue;
      const int stage = i % stages;
      mbarrier_wait(layout.v_unclean(stage), unclean.parity(stage));
      unclean.end(stage);
      const unsigned zeros[4] = {};
#pragma unroll 1
      for (int row = lane / 8; row < kStep; row += 4) {
        if (row >= invisible.begin && row < invisible.end) continue;
#pragma unroll
        for (int block = 0; block < kBlocksV; ++block)
          store_shared_16(layout.v(stage) + block * kKvBlockBytes + row * kBlockRowBytes + lane % 8 * 16,
                          zeros);
      }
      fence_async_proxy();
      __syncwarp();
      if (lane == 0) mbarrier_arrive(layout.v_full(stage));
    }
  }
}

}  // namespace cubinet::attention_prefill_wgmma
