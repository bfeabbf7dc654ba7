// SPDX-License-Identifier: Apache-2.0
#pragma once
// How templates of decode attention divide their work among blocks, from the lengths that lie on the device.
//
// The tiles of one KV head follow one another, those of a sequence side by side, each of as many units as its
// KV has; every block takes the same number of units, whatever tiles they are of. So a block has at most two
// tiles that it shares with others, its first and its last, and neither the grid nor the workspace depends on
// lengths. Blocks of a cluster take the same part of as many tiles side by side, which are counted as one here.
#include <cubinet/attention_decode_rows.cuh>

namespace cubinet::attention {

inline constexpr unsigned kAllLanes = 0xffffffffu;

// What a block of a single sequence would wait for one after the other, its length and then its pages, is on
// its way to the L2 at once. That takes no notice of what the kernel has to wait for: nothing is read yet.
__device__ inline void prefetch_look_ups(const AttentionDecodeParameters& p) {
  const int first = 32 * static_cast<int>(threadIdx.x);  // of the entries of 128 bytes
  if (p.batch > 1 || first * page_size >= p.max_kv_length || first >= 1024) return;
  if (first == 0) prefetch_to_l2(p.kv_lengths);
  prefetch_to_l2(p.page_table + 4 * first);
  if constexpr (separate_page_tables) prefetch_to_l2(p.page_table + 4 * (first + p.v_page_table_offset));
}

// The work of one sequence and one KV head.
struct SequenceWork {
  int begin;    // of the tokens that any row sees: a multiple of kSlice
  int units;    // of each of its tiles, at least one: a row that sees nothing is written too
  int q_tiles;  // those of a cluster are one; none where a sequence has no query token

  __device__ SequenceWork(const AttentionDecodeParameters& p, const Sequence& sequence)
      : begin(visible_to(p, sequence, 0).begin / kSlice * kSlice) {
    const int tokens = maximum(visible_to(p, sequence, sequence.q_len - 1).end - begin, 0);
    units = maximum(p.unit.quotient(tokens + p.unit.divisor - 1), 1);
    q_tiles = divide_up(p.group.divisor * sequence.q_len, tile_size_q * kClusterSize);
  }

  __device__ int all_units() const { return units * q_tiles; }
};

// What a block has of a tile. Numbers of units count from the first sequence's first.
struct Piece {
  Sequence sequence;
  int kv_begin;  // of the sequence's tokens: SequenceWork::begin
  int q_tile;
  int tile_begin;
  int tile_end;
  int begin;
  int end;

  __device__ bool is_whole() const { return begin == tile_begin && end == tile_end; }
};

__device__ inline PackedRows rows_of(const AttentionDecodeParameters& p, const Piece& piece) {
  return {p.group, p.group.divisor * piece.sequence.q_len, piece.q_tile * tile_size_q};
}

// The tokens of a piece that its tile's rows read. The first lies whole steps of `kStep` tokens, what the caller takes at
// a time, behind the sequence's: else its last step would reach into the next piece, whose tokens its rows see.
template <int kStep>
__device__ inline KvRange range_of(const AttentionDecodeParameters& p, const Piece& piece,
                                   const KvRange& seen) {
  const int begin = piece.kv_begin + (piece.begin - piece.tile_begin) * p.unit.divisor;
  const int end = piece.kv_begin + (piece.end - piece.tile_begin) * p.unit.divisor;
  const int oldest = sliding_window ? piece.kv_begin + (seen.begin - piece.kv_begin) / kStep * kStep : 0;
  return {maximum(begin, oldest), minimum(end, seen.end)};
}

// Every warp works it out for itself, all of its lanes together.
class WorkDivision {
 public:
  __device__ WorkDivision(const AttentionDecodeParameters& p, int block)
      : lane_(threadIdx.x % 32), block_(block / kClusterSize), rank_(block % kClusterSize) {
    const int total = units_before(p, p.batch);
    share_ = maximum(p.blocks.quotient(total * kClusterSize + p.blocks.divisor - 1), p.min_units);
    begin_ = block_ * share_;
    end_ = minimum(begin_ + share_, total);
  }

  // As a thread of another lane worked it out.
  __device__ WorkDivision of_this_lane() const {
    WorkDivision own = *this;
    own.lane_ = static_cast<int>(threadIdx.x) % 32;
    if constexpr (kClusterSize == 1) own.rank_ = 0;
    return own;
  }

  // Of the block; past the end where it has none.
  __device__ int begin() const { return begin_; }
  __device__ int end() const { return end_; }
  __device__ int share() const { return share_; }

  // REQUIRES: begin() <= unit < end().
  __device__ Piece piece(const AttentionDecodeParameters& p, int unit) const {
    int sequence = 0;
    int first = 0;  // unit of the sequence
    if (p.batch > 1) find(p, unit, sequence, first);
    const Sequence of(p, sequence);
    const SequenceWork work(p, of);
    Piece piece{of, work.begin, 0, first, 0, unit, end_};
    if (work.q_tiles > 1) {
      piece.q_tile = (unit - first) / work.units;
      piece.tile_begin += piece.q_tile * work.units;
    }
    piece.q_tile = piece.q_tile * kClusterSize + rank_;
    piece.tile_end = piece.tile_begin + work.units;
    piece.end = p.split_is_unit != 0 ? unit + 1 : minimum(end_, piece.tile_end);
    return piece;
  }

  // Where the block leaves what it has of a tile that it shares. Of a tile that began in an earlier block it
  // has its first piece, and its second is of the next.
  __device__ int slot(const AttentionDecodeParameters& p, const Piece& piece) const {
    const int of_cluster = p.split_is_unit != 0 ? piece.begin : 2 * block_ + (piece.tile_begin > begin_ ? 1 : 0);
    return of_cluster * kClusterSize + rank_;
  }

  // A whole tile.
  __device__ Piece tile(const AttentionDecodeParameters& p, const Sequence& sequence, int q_tile) const {
    const SequenceWork work(p, sequence);
    const int begin = units_before(p, sequence.index) + q_tile / kClusterSize * work.units;
    return {sequence, work.begin, q_tile, begin, begin + work.units, begin, begin + work.units};
  }

 private:
  __device__ static int units_of(const AttentionDecodeParameters& p, int sequence) {
    return SequenceWork(p, Sequence(p, sequence)).all_units();
  }

  __device__ int units_before(const AttentionDecodeParameters& p, int sequence) const {
    int units = 0;
#pragma unroll 1
    for (int other = lane_; other < sequence; other += 32)
      units += units_of(p, other);
    return __reduce_add_sync(kAllLanes, units);
  }

  // Thirty two sequences at a time.
  __device__ void find(const AttentionDecodeParameters& p, int unit, int& sequence, int& first) const {
#pragma unroll 1
    for (;; sequence += 32) {
      const int own = sequence + lane_;
      const int units = own < p.batch ? units_of(p, own) : 0;
      int end = units;  // of the lane's sequence
#pragma unroll
      for (int offset = 1; offset < 32; offset *= 2) {
        const int before = __shfl_up_sync(kAllLanes, end, offset);
        if (lane_ >= offset) end += before;
      }
      end += first;
      const unsigned later = __ballot_sync(kAllLanes, unit < end);
      const int lane = later != 0 ? __ffs(later) - 1 : 31;
      first = __shfl_sync(kAllLanes, later != 0 ? end - units : end, lane);
      if (later == 0) continue;
      sequence += lane;
      return;
    }
  }

  int lane_;
  int block_;  // or the cluster
  int rank_;
  int share_;
  int begin_;
  int end_;
};

// Where the partial results of a tile lie that several blocks share, one after the other.
struct PartialSlots {
  int count = 0;
  int first = 0;
  int step = 0;      // between the later ones
  int previous = 0;  // what they are counted from
  int rank = 0;

  PartialSlots() = default;
  __device__ PartialSlots(const AttentionDecodeParameters& p, const Piece& tile, int share)
      : rank(tile.q_tile % kClusterSize) {
    if (p.split_is_unit != 0) {
      count = tile.tile_end - tile.tile_begin;
      first = previous = tile.tile_begin;
      step = 1;
      return;
    }
    const int first_block = tile.tile_begin / share;
    count = (tile.tile_end - 1) / share - first_block + 1;
    previous = 2 * first_block;
    first = previous + (tile.tile_begin == first_block * share ? 0 : 1);
    step = 2;
  }

  __device__ int slot(int index) const {
    return (index == 0 ? first : previous + step * index) * kClusterSize + rank;
  }
};

}  // namespace cubinet::attention
