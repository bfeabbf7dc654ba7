// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order in which CTAs compute the tiles of Q, from the lengths in device memory.
//
// A sequence is short if one tile has all its query tokens, as in decode. Its tiles read KV that no
// other tile reads, so memory limits them. The others are limited by products. Short sequences are
// in the order of the batch, and their tiles are spread evenly among the others.
//
// The tiles of other sequences are divided into sections of sequences and KV heads whose KV fits
// the L2 cache. In a section, the tiles that are last in their sequences come first, because causal
// tiles there have the most KV: a level consists of the tiles with the same index in all sequences,
// and levels descend. All heads of a tile of a sequence follow each other. With splits of KV, each
// split of a tile is a tile of its own, and all heads of a split follow each other.
//
// In a cluster, a tile here has the rows of both CTAs.
//
// A CTA computes nothing before its first tile is found, and each load takes about 600 cycles. If
// all sequences have the same number of query tokens, positions are computed without loads.
#include <cubinet/attention_prefill_wgmma/sequence_search.cuh>
#include <cubinet/attention_prefill_wgmma/shape.cuh>
#include <cubinet/memory.cuh>

namespace cubinet::attention_prefill_wgmma {

// Returns whether sequences may have different numbers of query tokens.
__device__ inline bool has_ragged_q(const AttentionPrefillParameters& p) {
  return p.q_offsets != 0;
}

// The lengths of a sequence.
struct Lengths {
  int q_first;  // index of its first query token in the batch
  int q_len;
  int kv_len;

  Lengths() = default;
  __device__ Lengths(const AttentionPrefillParameters& p, int sequence)
      : q_first(sequence * p.q_len), q_len(p.q_len) {
    const GlobalAddress offset = 4ull * static_cast<unsigned>(sequence);
    if (has_ragged_q(p)) {
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
  // Returns the rows of the tile that exist, if they are fewer than the tile has, or more.
  __device__ int rows(const AttentionPrefillParameters& p) const {
    return (q_len - q_token) * p.tile_heads.divisor;
  }
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
      : p_(p), tile_tokens_(tile_size_q / p.tile_heads.divisor * kClusterSize), section_sequences_(p.batch) {
    Counts counts;
    if (!has_ragged_q(p)) {
      (is_short(p.q_len) ? counts.short_tiles : counts.long_tiles) = p.batch * tiles_of_longest();
      counts.tokens = static_cast<float>(p.batch) * static_cast<float>(p.max_kv_length);
    }
    // The lengths matter if sequences differ, or if their KV may exceed the L2 cache.
    if (!is_short(p.q_len) && (has_ragged_q(p) || heads_in_l2(counts.tokens) < kv_heads()))
      counts = counts_of_batch();
    const int heads_and_splits = p.tile_heads.quotient(p.heads_q.divisor) * splits();
    long_tiles_ = counts.long_tiles * heads_and_splits;
    tiles_ = long_tiles_ + counts.short_tiles * heads_and_splits;
    if (has_ragged_q(p) && is_short(p.q_len)) tiles_ = kUnknown;
    short_share_ = share_of(counts);
    const float heads = heads_in_l2(counts.tokens);
    section_heads_ = minimum(maximum(static_cast<int>(heads), 1), kv_heads());
    if (heads < 1.0f) section_sequences_ = maximum(static_cast<int>(heads * static_cast<float>(p.batch)), 1);
    first_head_ = -section_heads_;
  }

  // Returns the tile with this index in the order, or one of a negative sequence if there are fewer
  // tiles. Indices must ascend.
  __device__ Tile find(int index) {
    if (kHasManyRegisters && index >= tiles_) return tile_at({-1, 0, 0, 0});
    const int short_tiles = short_tiles_before(index);
    const bool is_short = short_tiles_before(index + 1) > short_tiles;
    return tile_at(is_short ? short_position(short_tiles) : long_position(index - short_tiles));
  }

 private:
  // The position of a tile. A negative sequence: there is no such tile.
  struct Position {
    int sequence;
    int level;  // the index of the tile in its sequence
    int head;
    int split;
  };

  // The tiles of a batch with the same heads and split, and the KV of its long sequences.
  struct Counts {
    int short_tiles = 0;
    int long_tiles = 0;
    float tokens = 0.0f;
  };

  static constexpr int kUnknown = 0x7fffffff;
  // The producers of three consumers lack registers for several loads, for the positions of
  // searches and for the number of tiles. They find the end by a search.
  static constexpr bool kHasManyRegisters = kConsumers < 3;
  // Sequences of a lane whose loads are in flight together.
  static constexpr int kCountedAtOnce = kHasManyRegisters ? 4 : 2;
  static constexpr int kSearchedAtOnce = kHasManyRegisters ? 2 : 1;
  static constexpr float kL2Bytes = 32.0f * 1024 * 1024;
  // Slightly below 2^32, so that rounding never makes a share too large.
  static constexpr float kShareUnits = 4294963200.0f;

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  __device__ Counts counts_of_batch() const {
    Counts counts;
#pragma unroll 1
    for (int first = lane(); first < p_.batch; first += 32 * kCountedAtOnce) {
      Lengths lengths[kCountedAtOnce];
#pragma unroll
      for (int i = 0; i < kCountedAtOnce; ++i)
        lengths[i] = Lengths(p_, minimum(first + 32 * i, p_.batch - 1));
#pragma unroll
      for (int i = 0; i < kCountedAtOnce; ++i) {
        const int q_len = first + 32 * i < p_.batch ? lengths[i].q_len : 0;
        counts.short_tiles += is_short(q_len) ? 1 : 0;
        counts.long_tiles += tiles_of_long(q_len);
        if (q_len > tile_tokens_) counts.tokens += static_cast<float>(lengths[i].kv_len);
      }
    }
    counts.short_tiles = __reduce_add_sync(kAllLanes, counts.short_tiles);
    counts.long_tiles = __reduce_add_sync(kAllLanes, counts.long_tiles);
    counts.tokens = lanes_sum<32>(counts.tokens);
    return counts;
  }
  __device__ static unsigned share_of(const Counts& counts) {
    const float short_tiles = static_cast<float>(counts.short_tiles);
    const float all = fmaxf(static_cast<float>(counts.long_tiles) + short_tiles, 1.0f);
    return static_cast<unsigned>(short_tiles / all * kShareUnits);
  }
  // Returns the KV heads whose tokens fit the L2 cache.
  __device__ static float heads_in_l2(float tokens) {
    return kL2Bytes / static_cast<float>(kElementBytes * (head_dim_qk + head_dim_v)) / fmaxf(tokens, 1.0f);
  }

  // Returns the tiles of short sequences before an index of the order. After the last long tile,
  // all tiles are of short sequences.
  __device__ int short_tiles_before(int index) const {
    const unsigned long long spread = static_cast<unsigned long long>(index) * short_share_ + 0xffffffffu;
    return maximum(static_cast<int>(spread >> 32), index - long_tiles_);
  }

  // Returns the position of a tile of the short sequences.
  __device__ Position short_position(int index) {
    const int heads = p_.tile_heads.quotient(p_.heads_q.divisor);
    const int part = index / heads;
    const int rank = part / splits();
    return {short_sequence(rank), 0, (index - part * heads) * p_.tile_heads.divisor, part - rank * splits()};
  }
  __device__ int short_sequence(int rank) {
    if (!has_ragged_q(p_)) return is_short(p_.q_len) && rank < p_.batch ? rank : -1;
    if constexpr (!kHasManyRegisters) short_search_.restart(0);
    return short_search_.template find<kSearchedAtOnce>(
        rank, p_.batch, [&](int sequence) { return is_short(q_len_of(sequence, p_.batch)); });
  }

  // Returns the position of a tile of the other sequences.
  __device__ Position long_position(int index) {
#pragma unroll 1
    while (first_sequence_ < p_.batch) {
      // Skips the levels before the tile's that have the same sequences.
      const int tiles = live_ * heads() * splits();
      const int levels = tiles == 0 ? level_ - next_level_ : (index - begin_) / tiles;
      const int skipped = minimum(levels, level_ - next_level_);
      begin_ += skipped * tiles;
      level_ -= skipped;
      if (skipped != 0) search_.restart(first_sequence_);
      if (level_ > next_level_) return position_in_level(index);
      if (level_ >= 0) {
        begin_level();
      } else {
        next_section();
      }
    }
    return {-1, 0, 0, 0};
  }

  __device__ int kv_heads() const {
    return p_.heads_kv.divisor;
  }
  __device__ int splits() const {
    return maximum(p_.splits, 1);
  }

  // Returns the tiles of all heads of the section with the same tokens.
  __device__ int heads() const {
    return p_.tile_heads.quotient(minimum(section_heads_, kv_heads() - first_head_) * p_.group.divisor);
  }
  __device__ int end_sequence() const {
    return minimum(first_sequence_ + section_sequences_, p_.batch);
  }

  // Returns the query tokens of a sequence, or 0 if it is not before `end`.
  __device__ int q_len_of(int sequence, int end) const {
    const int q_len = Lengths(p_, minimum(sequence, p_.batch - 1)).q_len;
    return sequence < end ? q_len : 0;
  }
  __device__ bool is_short(int q_len) const {
    return q_len > 0 && q_len <= tile_tokens_;
  }
  // Returns the tiles with the same heads of a sequence, or 0 if it is short.
  __device__ int tiles_of_long(int q_len) const {
    return q_len > tile_tokens_ ? divide_up(q_len, tile_tokens_) : 0;
  }
  __device__ int tiles_of_longest() const {
    return divide_up(p_.q_len, tile_tokens_);
  }
  // Returns the tiles of the lane's sequence among the 32 sequences of a chunk of the section.
  __device__ int own_tiles(int chunk) const {
    return chunk == first_sequence_ ? own_tiles_ : tiles_of_long(q_len_of(chunk + lane(), end_sequence()));
  }

  __device__ void begin_level() {
    search_.restart(first_sequence_);
    live_ = 0;
    int next = -1;
#pragma unroll 1
    for (int chunk = first_sequence_; chunk < end_sequence(); chunk += 32) {
      const int tiles = own_tiles(chunk);
      live_ += __popc(__ballot_sync(kAllLanes, tiles > level_));
      if (tiles <= level_) next = maximum(next, tiles - 1);
    }
    next_level_ = __reduce_max_sync(kAllLanes, next);
  }
  __device__ void begin_section() {
    level_ = tiles_of_longest() - 1;
    if (has_ragged_q(p_)) {
      own_tiles_ = tiles_of_long(q_len_of(first_sequence_ + lane(), end_sequence()));
      begin_level();
    } else {
      live_ = end_sequence() - first_sequence_;
      next_level_ = -1;
    }
  }
  __device__ void next_section() {
    first_head_ += section_heads_;
    if (first_head_ >= kv_heads()) {
      first_head_ = 0;
      first_sequence_ += section_sequences_;
    }
    if (first_sequence_ < p_.batch) begin_section();
  }

  __device__ Position position_in_level(int index) {
    const int part = (index - begin_) / heads();
    const int head = index - begin_ - part * heads();
    const int rank = part / splits();
    return {live_sequence(rank), level_, first_head_ * p_.group.divisor + head * p_.tile_heads.divisor,
            part - rank * splits()};
  }

  __device__ int live_sequence(int rank) {
    if (!has_ragged_q(p_)) return first_sequence_ + rank;
    if constexpr (!kHasManyRegisters) search_.restart(first_sequence_);
    return search_.template find<1>(rank, p_.batch,
                                    [&](int sequence) { return own_tiles(sequence - lane()) > level_; });
  }

  __device__ Tile tile_at(const Position& position) const {
    Tile tile = {};
    tile.sequence = position.sequence;
    if (tile.sequence < 0) return tile;
    const Lengths of(p_, tile.sequence);
    tile.head = position.head;
    tile.q_first = of.q_first;
    tile.q_token = position.level * tile_tokens_;
    tile.q_len = of.q_len;
    tile.kv_len = of.kv_len;
    set_steps(tile, position.split);
    // The CTAs of a cluster divide the tokens, and have the same steps.
    if constexpr (kClusterSize > 1)
      tile.q_token += static_cast<int>(blockIdx.x) % kClusterSize * (tile_tokens_ / kClusterSize);
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
  int tiles_;  // of all heads and splits, if kHasManyRegisters; kUnknown: a search finds the end
  int long_tiles_;
  unsigned short_share_;  // the share of short tiles in all, in units of 2^-32
  SequenceSearch short_search_;
  int section_heads_;  // KV heads
  int section_sequences_;
  int first_sequence_ = 0;
  int first_head_ = 0;  // KV head
  int own_tiles_ = 0;   // of the lane's sequence in the first chunk of the section
  int level_ = -1;
  int next_level_ = -1;  // the next one in which more sequences have a tile; -1: none
  int live_ = 0;         // sequences with a tile of the level
  int begin_ = 0;        // index of the level's first tile
  SequenceSearch search_;
};

// Counts the CTAs that have ended. The last one sets the counters to zero for the next run. One
// thread of each CTA must call it after its last use of the counters.
__device__ inline void release_counters(const AttentionPrefillParameters& p) {
  if (add_global(p.counters + 4, 1) != static_cast<int>(gridDim.x) - 1) return;
  store_global_int(p.counters, 0);
  store_global_int(p.counters + 4, 0);
}

}  // namespace cubinet::attention_prefill_wgmma
