// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads of `attention_prefill_wgmma`. One warp copies Q and K with TMA. A second one copies V, and
// a third one sets the rows of V to zero that no query token sees. The first warp copies V of e4m3,
// because the other two transpose it.
#include <cubinet/attention_prefill_wgmma/tile_ring.cuh>
#include <cubinet/tensor_map.cuh>

namespace cubinet::attention_prefill_wgmma {

// Prefetches the tensor maps, and to the L2 cache the lengths and the first page table entries of
// all sequences, of which each CTA has some. A CTA would otherwise wait for them one after the
// other. Reads nothing, so it may precede wait_for_prerequisites().
__device__ inline void prefetch_look_ups(const AttentionPrefillMapParameters& maps) {
  constexpr int kLines = 4;  // of 128 bytes of the page table of a sequence
  const AttentionPrefillParameters& p = maps.p;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) prefetch_tensor_map(&maps.q);
  if (thread == 32) prefetch_tensor_map(&maps.k);
  if (thread == 64) prefetch_tensor_map(&maps.v);
  const int sequence = static_cast<int>(blockIdx.x) + thread / kLines * static_cast<int>(gridDim.x);
  if (sequence >= p.batch) return;
  const int line = thread % kLines;
  if (line == 0) {
    prefetch_to_l2(p.kv_lengths + 4ull * static_cast<unsigned>(sequence));
    if (has_ragged_q(p)) prefetch_to_l2(p.q_offsets + 4ull * static_cast<unsigned>(sequence));
  }
  if constexpr (kPaged) {
    const int entry = line * 32;
    if (entry * p.page_size.divisor >= p.max_kv_length) return;
    const GlobalAddress table = p.page_table + 4 * (sequence * p.page_table_stride + entry);
    prefetch_to_l2(table);
    if constexpr (separate_page_tables) prefetch_to_l2(table + 4ll * p.v_page_table_offset);
  }
}

// The rows of a step of V that must be zero: a weight of zero times NaN would be NaN. Rows before
// `begin` and from `end` on are invisible. Those from `end_of_page` on are zero already, because
// pages after the last token are read as zeros.
struct InvisibleRows {
  int begin = 0;
  int end;
  int end_of_page = kStep;

  __device__ InvisibleRows(const AttentionPrefillParameters& p, const Tile& tile, int step)
      : end(tile.kv_len - step * kStep) {
    if constexpr (sliding_window) begin = tile.prefix() + 1 - p.window - step * kStep;
    if constexpr (kPaged) {
      const int of_last = p.page_size.remainder(tile.kv_len);
      end_of_page = minimum(of_last == 0 ? end : end + p.page_size.divisor - of_last, kStep);
    }
  }
  __device__ bool any() const { return begin > 0 || end < end_of_page; }
};

// The location of the K or V of a tile.
struct KvSource {
  int head;  // coordinate of the KV head in the map
  int kv_len;
  int first;            // contiguous: index of the first token in the map
  int outer;            // contiguous: index of the sequence in the map
  GlobalAddress table;  // paged: page table entries

  __device__ KvSource(const AttentionPrefillParameters& p, const Tile& tile, bool has_whole_rows,
                      long long head_stride, int table_offset)
      : head(p.group.quotient(tile.head)), kv_len(tile.kv_len), first(0), outer(tile.sequence), table(0) {
    if constexpr (kPaged) {
      if (has_whole_rows) head *= static_cast<int>(head_stride / kBlockElements);
      table = p.page_table + 4 * (tile.sequence * p.page_table_stride + table_offset);
    } else if (p.kv_offsets != 0) {
      first = load_global_constant_int(p.kv_offsets + 4ull * static_cast<unsigned>(tile.sequence));
      outer = 0;
    }
  }
};

// Copies the boxes of a step of K or V, which has `kBlocks` blocks of columns. All lanes of one
// warp must call each function together.
//
// With pages, a box holds all columns of the rows that one page has of a step, if rows are whole
// blocks and heads are whole blocks apart, or if a row is a part of a block. If rows end within a
// block, it holds these rows of a block. Otherwise it holds 8 rows of a block
// (docs/kernels/attention_prefill_wgmma.md).
template <int kBlocks>
class BoxCopier {
 public:
  __device__ BoxCopier(const AttentionPrefillParameters& p, const void* map, long long head_stride,
                       int table_offset)
      : p_(p),
        map_(map),
        head_stride_(head_stride),
        table_offset_(table_offset),
        box_tokens_(kPaged ? p.box_tokens : kStep),
        has_whole_rows_(kPaged && kHasWholeRows && p.k_head_stride % kBlockElements == 0 &&
                        p.v_head_stride % kBlockElements == 0) {}

  __device__ KvSource source(const Tile& tile) const {
    return KvSource(p_, tile, has_whole_rows_, head_stride_, table_offset_);
  }

  // Returns the page of the lane's box of a step. Boxes after the last token get a page that does
  // not exist, which is read as zeros.
  __device__ int page_of(const KvSource& source, int step) const {
    if constexpr (!kPaged) return source.outer;
    const int token = own_token(step);
    if (token >= source.kv_len) return -1;
    return load_global_constant_int(source.table + 4ll * p_.page_size.quotient(token));
  }

  // Starts the copies of a step to `target`. `page` is that of the lane's box.
  __device__ void copy(SharedAddress target, const KvSource& source, int step, int page,
                       SharedAddress full) const {
    // The CTAs of a cluster copy every other box to all of them.
    if (kClusterSize > 1 && lane() % kClusterSize != static_cast<int>(blockIdx.x) % kClusterSize) return;
    if constexpr (kPaged) {
      if (lane() * box_tokens_ >= kStep) return;
      const int group = p_.page_size.remainder(own_token(step)) / kGroupRows;
      target += lane() * box_tokens_ * (kGroupsRows ? kBlocks : 1) * kBlockRowBytes;
      if (has_whole_rows_)
        return copy_box_in_cluster<kClusterSize>(target, map_, 0, 0, source.head, group, page, full);
#pragma unroll 1
      for (int block = 0; block < kBlocks; ++block)
        copy_box_in_cluster<kClusterSize>(target + block * kKvBlockBytes, map_, block * kBlockElements, 0,
                                          source.head, group, page, full);
    } else if (lane() < kBlocks) {
      copy_box_in_cluster<kClusterSize>(target + lane() * kKvBlockBytes, map_, lane() * kBlockElements,
                                        source.first + step * kStep, source.head, page, full);
    }
  }

 private:
  static constexpr bool kHasWholeRows = head_dim_qk % kBlockElements == 0 && head_dim_v % kBlockElements == 0;

  __device__ static int lane() {
    return static_cast<int>(threadIdx.x) % 32;
  }
  __device__ int own_token(int step) const {
    return step * kStep + lane() * box_tokens_;
  }

  const AttentionPrefillParameters& p_;
  const void* map_;
  long long head_stride_;
  int table_offset_;
  int box_tokens_;
  bool has_whole_rows_;
};

// The pages of the next steps of a tile, which are looked up two steps ahead: a look-up takes about
// 700 cycles. The producers of three consumers lack the registers, and look one step ahead.
template <int kBlocks>
class PagesAhead {
 public:
  __device__ PagesAhead(const BoxCopier<kBlocks>& copier, const KvSource& source, int step)
      : copier_(copier), source_(source), page_(copier.page_of(source, step)) {
    if constexpr (kLooksFarAhead) next_ = copier.page_of(source, step + 1);
  }

  // Returns the page of a step, and looks up that of a later one. Must be called once for each step
  // from the first on.
  __device__ int take(int step) {
    const int page = page_;
    if constexpr (kLooksFarAhead) {
      page_ = next_;
      next_ = copier_.page_of(source_, step + 2);
    } else {
      page_ = copier_.page_of(source_, step + 1);
    }
    return page;
  }

 private:
  static constexpr bool kLooksFarAhead = kConsumers < 3;

  const BoxCopier<kBlocks>& copier_;
  const KvSource& source_;
  int page_;
  int next_ = 0;
};

// The rows of Q of a tile. They are one box for each consumer, or one for all if the heads that
// share the tile are not a whole part of a consumer's rows. All lanes of one warp must call each
// function together.
class QSource {
 public:
  __device__ QSource(const AttentionPrefillMapParameters& maps, const Tile& tile)
      : maps_(maps),
        head_(tile.head),
        token_(tile.q_token + (maps.p.q_offsets != 0 ? tile.q_first : 0)),
        sequence_(maps.p.q_offsets != 0 ? 0 : tile.sequence),
        divided_(loads_q_apart(maps.p)),
        tokens_((divided_ ? kWarpgroupRows : tile_size_q) / maps.p.tile_heads.divisor) {}

  // Prefetches the rows to the L2 cache. No other tile reads them, so they are in device memory.
  __device__ void prefetch() const {
    const int part = lane() / kBlocksQk;
    if (part < (divided_ ? kConsumers : 1))
      prefetch_box(&maps_.q, lane() % kBlocksQk * kBlockElements, head_, token_ + part * tokens_, sequence_);
  }

  // Copies the rows of each consumer to a stage when it has released those of an earlier tile.
  // `phases` are those of the stages of all consumers.
  __device__ void load(const SharedLayout& layout, int stage, Phases& phases) const {
#pragma unroll 1
    for (int consumer = 0; consumer < kConsumers; ++consumer) {
      const int of_consumer = stage * kConsumers + consumer;
      mbarrier_wait(layout.q_empty(stage, consumer), phases.parity(of_consumer) ^ 1);
      phases.end(of_consumer);
      if (!divided_ && consumer < kConsumers - 1) continue;
      const int part = divided_ ? consumer : 0;
      const SharedAddress full = layout.q_full(stage, part);
      const int rows = tokens_ * maps_.p.tile_heads.divisor;
      if (lane() == 0)
        mbarrier_arrive_expect_bytes(full, static_cast<unsigned>(kBlocksQk * kBlockRowBytes * rows));
      __syncwarp();
      if (lane() < kBlocksQk)
        copy_box(layout.q(stage) + lane() * kQBlockBytes + part * kWarpgroupRows * kBlockRowBytes, &maps_.q,
                 lane() * kBlockElements, head_, token_ + part * tokens_, sequence_, full);
    }
  }

 private:
  __device__ static int lane() {
    return static_cast<int>(threadIdx.x) % 32;
  }

  const AttentionPrefillMapParameters& maps_;
  int head_;
  int token_;
  int sequence_;
  bool divided_;
  int tokens_;
};

// The copies of V, step after step. All lanes of one warp must call each function together.
class VLoader {
 public:
  __device__ VLoader(const AttentionPrefillMapParameters& maps, const SharedLayout& layout)
      : p_(maps.p),
        layout_(layout),
        copier_(maps.p, &maps.v, maps.p.v_head_stride,
                separate_page_tables ? maps.p.v_page_table_offset : 0) {}

  __device__ const BoxCopier<kBlocksV>& copier() const { return copier_; }

  // Copies a step when its stage is empty.
  __device__ void load(const Tile& tile, const KvSource& source, int step, int page) {
    mbarrier_wait(kTransposesV ? layout_.v_transposed(stage_) : layout_.v_empty(stage_),
                  phases_.parity(stage_) ^ 1);
    phases_.end(stage_);
    const SharedAddress full = kTransposesV || InvisibleRows(p_, tile, step).any() ? layout_.v_unclean(stage_)
                                                                                   : layout_.v_full(stage_);
    if (threadIdx.x % 32 == 0) mbarrier_arrive_expect_bytes(full, kStageBytesV);
    __syncwarp();
    copier_.copy(layout_.v(stage_), source, step, page, full);
    stage_ ^= 1;
  }

 private:
  const AttentionPrefillParameters& p_;
  const SharedLayout& layout_;
  BoxCopier<kBlocksV> copier_;
  Phases phases_;
  int stage_ = 0;
};

// Copies Q and K of all tiles of the CTA, and V if it is transposed. All lanes of one warp must
// call it.
__device__ inline void load_qk_tiles(const AttentionPrefillMapParameters& maps, const SharedLayout& layout) {
  const AttentionPrefillParameters& p = maps.p;
  const BoxCopier<kBlocksQk> copier(p, &maps.k, p.k_head_stride, 0);
  VLoader v(maps, layout);
  TileReader tiles(layout);
  Phases phases;
  Phases q_phases;
  int stage = 0;
  int q_stage = 0;
#pragma unroll 1
  while (tiles.next()) {
    const Tile tile = tiles.tile();
    tiles.release();
    const QSource q(maps, tile);
    if constexpr (kQStages == 1) q.prefetch();
    const KvSource source = copier.source(tile);
    PagesAhead<kBlocksQk> pages(copier, source, tile.first_step);
    const KvSource v_source = kPaged ? v.copier().source(tile) : source;
    PagesAhead<kBlocksV> v_pages(v.copier(), v_source, tile.first_step);
#pragma unroll 1
    for (int i = 0; i < tile.steps; ++i) {
      // The next tile is found late, so that the CTAs end at about the same time, but early enough
      // to be known in time.
      if (i == maximum(tile.steps - 3, 0)) tiles.want_next();
      const int step = tile.first_step + i;
      const int page = pages.take(step);
      mbarrier_wait(layout.k_empty(stage), phases.parity(stage) ^ 1);
      phases.end(stage);
      if (threadIdx.x % 32 == 0) mbarrier_arrive_expect_bytes(layout.k_full(stage), kStageBytesK);
      __syncwarp();
      copier.copy(layout.k(stage), source, step, page, layout.k_full(stage));
      stage ^= 1;
      if (i == 0) q.load(layout, q_stage, q_phases);
      if constexpr (kTransposesV) v.load(tile, v_source, step, v_pages.take(step));
    }
    q_stage = (q_stage + 1) % kQStages;
  }
}

// Copies V of all tiles of the CTA. All lanes of one warp must call it.
__device__ inline void load_v_tiles(const AttentionPrefillMapParameters& maps, const SharedLayout& layout) {
  VLoader v(maps, layout);
  TileReader tiles(layout);
#pragma unroll 1
  while (tiles.next()) {
    const Tile tile = tiles.tile();
    tiles.release();
    const KvSource source = v.copier().source(tile);
    PagesAhead<kBlocksV> pages(v.copier(), source, tile.first_step);
#pragma unroll 1
    for (int step = tile.first_step; step < tile.first_step + tile.steps; ++step)
      v.load(tile, source, step, pages.take(step));
  }
}

// Sets rows of a stage of V to zero. All lanes of one warp must call it.
__device__ inline void clear_rows(const SharedLayout& layout, int stage, int begin, int end) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned zeros[4] = {};
#pragma unroll 1
  for (int row = begin + lane / 8; row < end; row += 4) {
    const SharedAddress first =
        layout.v(stage) + row / kGroupRows * kGroupBytesV + row % kGroupRows * kBlockRowBytes + lane % 8 * 16;
#pragma unroll
    for (int block = 0; block < kBlocksV; ++block)
      store_shared_16(first + block * kKvBlockBytes, zeros);
  }
}

// Sets invisible rows of V to zero, in all tiles of the CTA. All lanes of one warp must call it.
__device__ inline void clean_tiles(const AttentionPrefillParameters& p, const SharedLayout& layout) {
  Phases unclean;
  TileReader tiles(layout);
  int stage = 0;
#pragma unroll 1
  while (tiles.next()) {
    const Tile tile = tiles.tile();
    tiles.release();
#pragma unroll 1
    for (int step = tile.first_step; step < tile.first_step + tile.steps; ++step, stage ^= 1) {
      const InvisibleRows invisible(p, tile, step);
      if (!invisible.any()) continue;
      mbarrier_wait(layout.v_unclean(stage), unclean.parity(stage));
      unclean.end(stage);
      if constexpr (sliding_window) clear_rows(layout, stage, 0, invisible.begin);
      clear_rows(layout, stage, maximum(invisible.end, 0), invisible.end_of_page);
      fence_async_proxy();
      __syncwarp();
      if (threadIdx.x % 32 == 0) mbarrier_arrive(layout.v_full(stage));
    }
  }
}

}  // namespace cubinet::attention_prefill_wgmma
