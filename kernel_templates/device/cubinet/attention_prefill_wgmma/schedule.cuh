// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order in which CTAs compute the tiles of Q, from the lengths in device memory.
//
// Tiles are divided into sections of sequences and KV heads whose KV fits the L2 cache. In a
// section, the tiles that are last in their sequences come first, because causal tiles there have
// the most KV: a level consists of the tiles with the same index in all sequences, and levels
// descend. All heads of a tile of a sequence follow each other. With splits of KV, each split of a
// tile is a tile of its own, and all heads of a split follow each other.
#include <cubinet/attention_prefill_wgmma/shape.cuh>
#include <cubinet/memory.cuh>

namespace cubinet::attention_prefill_wgmma {

// The lengths of a sequence.
struct Lengths {
  int q_first;  // index of its first query token in the batch
  int q_len;
  int kv_len;

  __device__ Lengths(const AttentionPrefillParameters& p, int sequence)
      : q_first(sequence * p.q_len), q_len(p.q_len) {
    const GlobalAddress offset = 4ull * static_cast<unsigned>(sequence);
    if (p.q_offsets != 0) {
      q_first = load_global_constant_int(p.q_offsets + offset);
      q_len = minimum(load_global_constant_int(p.q_offsets + offset + 4) - q_first, p.q_len);
    }
    kv_len = minimum(load_global_constant_int(p.kv_lengths + offset), p.max_kv_length);
    kv_len = minimum(maximum(kv_len + (q_len & p.lengths_exclude_new), 0), p.max_kv_length);
  }
};

// A tile of Q, or a split of one: tokens and heads of one KV head. Row r is head r % tile_heads of
// token r / tile_heads.
struct Tile {
  int sequence;  // negative: the last tile of the CTA has been computed
  int head;      // the first one
  int q_first;   // index of the sequence's first query token in the batch
  int q_token;   // of the first row, in the sequence
  int q_len;     // of the sequence
  int kv_len;
  int first_step;  // steps begin at multiples of kStep
  int steps;       // 0: the tile does not need this split

  // Returns the position of query token 0 of the sequence.
  __device__ int prefix() const { return kv_len - q_len; }
};
static_assert(sizeof(Tile) == kTileBytes);

// Returns whether the rows of Q of each consumer are copied as a box of their own.
__device__ inline bool loads_q_apart(const AttentionPrefillParameters& p) {
  return p.tile_heads.remainder(kWarpgroupRows) == 0;
}

// Walks over the tiles. All lanes of a warp must call each function together.
class Schedule {
 public:
  __device__ explicit Schedule(const AttentionPrefillParameters& p)
      : p_(p), tile_tokens_(tile_size_q / p.tile_heads.divisor), splits_(maximum(p.splits, 1)) {
    float tokens = 0.0f;
#pragma unroll 1
    for (int i = lane(); i < p.batch; i += 32)
      tokens += static_cast<float>(Lengths(p, i).kv_len);
    const float heads_in_l2 = kL2Bytes / static_cast<float>(kElementBytes * (head_dim_qk + head_dim_v)) /
                              fmaxf(lanes_sum<32>(tokens), 1.0f);
    section_heads_ = minimum(maximum(static_cast<int>(heads_in_l2), 1), p.heads_kv.divisor);
    section_sequences_ = p.batch;
    if (heads_in_l2 < 1.0f)
      section_sequences_ = maximum(static_cast<int>(heads_in_l2 * static_cast<float>(p.batch)), 1);
    begin_section();
  }

  // Returns the tile with this index in the order, or one of a negative sequence if there are fewer
  // tiles. Indices must ascend.
  __device__ Tile find(int index) {
#pragma unroll 1
    while (first_sequence_ < p_.batch) {
      // Skips the levels before the tile's that have the same sequences.
      const int tiles = live_ * heads() * splits_;
      const int levels = tiles == 0 ? level_ - next_level_ : (index - begin_) / tiles;
      const int skipped = minimum(levels, level_ - next_level_);
      begin_ += skipped * tiles;
      level_ -= skipped;
      if (skipped != 0) restart_chunks();
      if (level_ > next_level_) return tile_of(index);
      if (level_ >= 0) {
        begin_level();
      } else {
        next_section();
      }
    }
    Tile none = {};
    none.sequence = -1;
    return none;
  }

 private:
  static constexpr float kL2Bytes = 32.0f * 1024 * 1024;

  __device__ static int lane() {
    return static_cast<int>(threadIdx.x) % 32;
  }

  // Returns the tiles of all heads of the section with the same tokens.
  __device__ int heads() const {
    const int kv_heads = minimum(section_heads_, p_.heads_kv.divisor - first_head_);
    return p_.tile_heads.quotient(kv_heads * p_.group.divisor);
  }
  __device__ int end_sequence() const {
    return minimum(first_sequence_ + section_sequences_, p_.batch);
  }

  // Returns the tiles of a sequence with the same heads.
  __device__ int tiles_of(int sequence) const {
    return sequence < end_sequence() ? divide_up(Lengths(p_, sequence).q_len, tile_tokens_) : 0;
  }
  // Returns the tiles of the lane's sequence among the 32 sequences of a chunk.
  __device__ int own_tiles(int chunk) const {
    return chunk == first_sequence_ ? own_tiles_ : tiles_of(chunk + lane());
  }
  // Returns the lanes whose sequences have a tile of the level.
  __device__ unsigned live_of(int chunk) const {
    return __ballot_sync(kAllLanes, own_tiles(chunk) > level_);
  }

  __device__ void restart_chunks() {
    chunk_ = first_sequence_;
    chunk_rank_ = 0;
  }
  __device__ void begin_level() {
    live_ = 0;
    int next = -1;
#pragma unroll 1
    for (int chunk = first_sequence_; chunk < end_sequence(); chunk += 32) {
      live_ += __popc(live_of(chunk));
      const int tiles = own_tiles(chunk);
      if (tiles <= level_) next = maximum(next, tiles - 1);
    }
    next_level_ = __reduce_max_sync(kAllLanes, next);
    restart_chunks();
  }
  __device__ void begin_section() {
    own_tiles_ = tiles_of(first_sequence_ + lane());
    int most = 0;
#pragma unroll 1
    for (int chunk = first_sequence_; chunk < end_sequence(); chunk += 32)
      most = maximum(most, own_tiles(chunk));
    level_ = maximum(__reduce_max_sync(kAllLanes, most), 1) - 1;
    begin_level();
  }
  __device__ void next_section() {
    first_head_ += section_heads_;
    if (first_head_ >= p_.heads_kv.divisor) {
      first_head_ = 0;
      first_sequence_ += section_sequences_;
    }
    if (first_sequence_ < p_.batch) begin_section();
  }

  // Returns a tile of the level.
  __device__ Tile tile_of(int index) {
    const int part = (index - begin_) / heads();
    const int head = index - begin_ - part * heads();
    const int rank = part / splits_;
    const int split = part - rank * splits_;
    // The sequence with `rank` live ones before it.
    unsigned live = live_of(chunk_);
    while (rank - chunk_rank_ >= __popc(live)) {
      chunk_rank_ += __popc(live);
      chunk_ += 32;
      live = live_of(chunk_);
    }
    const unsigned before = __popc(live & ((1u << lane()) - 1));
    const unsigned chosen = __ballot_sync(
        kAllLanes, (live >> lane() & 1) != 0 && before == static_cast<unsigned>(rank - chunk_rank_));
    const int sequence = chunk_ + __ffs(static_cast<int>(chosen)) - 1;
    const Lengths of(p_, sequence);
    Tile tile;
    tile.sequence = sequence;
    tile.head = first_head_ * p_.group.divisor + head * p_.tile_heads.divisor;
    tile.q_first = of.q_first;
    tile.q_token = level_ * tile_tokens_;
    tile.q_len = of.q_len;
    tile.kv_len = of.kv_len;
    set_steps(tile, split);
    return tile;
  }

  // Sets the steps of a split. A tile that sees no token has one step, all of whose scores are
  // masked.
  __device__ void set_steps(Tile& tile, int split) const {
    int begin = 0;
    int end = tile.kv_len;
    const int position = tile.prefix() + tile.q_token;
    if constexpr (kCausal) end = minimum(end, position + tile_tokens_);
    if constexpr (sliding_window) begin = maximum(position + 1 - p_.window, 0);
    end = maximum(end, begin + 1);
    if (p_.split_tokens != 0) {
      begin = maximum(begin, split * p_.split_tokens);
      end = minimum(end, (split + 1) * p_.split_tokens);
    }
    tile.first_step = begin / kStep;
    tile.steps = end > begin ? divide_up(end, kStep) - tile.first_step : 0;
  }

  const AttentionPrefillParameters& p_;
  int tile_tokens_;
  int splits_;
  int section_heads_;  // KV heads
  int section_sequences_;
  int first_sequence_ = 0;
  int first_head_ = 0;  // KV head
  int own_tiles_ = 0;   // of the lane's sequence in the first chunk of the section
  int level_ = 0;
  int next_level_ = 0;  // the next one in which more sequences have a tile; -1: none
  int live_ = 0;        // sequences with a tile of the level
  int begin_ = 0;       // index of the level's first tile
  int chunk_ = 0;       // the first of 32 sequences, with `chunk_rank_` live ones before
  int chunk_rank_ = 0;
};

// Counts the CTAs that have ended. The last one sets the counters to zero for the next run. One
// thread of each CTA must call it after its last use of the counters.
__device__ inline void release_counters(const AttentionPrefillParameters& p) {
  if (add_global(p.counters + 4, 1) != static_cast<int>(gridDim.x) - 1) return;
  store_global_int(p.counters, 0);
  store_global_int(p.counters + 4, 0);
}

}  // namespace cubinet::attention_prefill_wgmma
