// SPDX-License-Identifier: Apache-2.0
#pragma once
// How templates of decode attention divide their work among blocks, from the lengths that lie on the device.
//
// The tiles of one KV head follow one another, those of a sequence side by side, each of as many units as its
// KV has; every block takes the same number of units, whatever tiles they are of. So a block has at most two
// tiles that it shares with others, its first and its last, and neither the grid nor the workspace depends on
// lengths.
#include <cubinet/attention_decode_rows.cuh>

namespace cubinet::attention {

inline constexpr unsigned kAllLanes = 0xffffffffu;

// The work of one sequence and one KV head.
struct SequenceWork {
  int begin;    // of the tokens that any row sees: a multiple of kSlice
  int units;    // of each of its tiles, at least one: a row that sees nothing is written too
  int q_tiles;  // none where a sequence has no query token

  __device__ SequenceWork(const AttentionDecodeParameters& p, const Sequence& sequence)
      : begin(visible_to(p, sequence, 0).begin / kSlice * kSlice) {
    const int tokens = maximum(visible_to(p, sequence, sequence.q_len - 1).end - begin, 0);
    units = maximum(p.unit.quotient(tokens + p.unit.divisor - 1), 1);
    q_tiles = divide_up(p.group.divisor * sequence.q_len, tile_size_q);
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

// The tokens of a piece that its tile's rows read.
__device__ inline KvRange range_of(const AttentionDecodeParameters& p, const Piece& piece,
                                   const KvRange& seen) {
  const int begin = piece.kv_begin + (piece.begin - piece.tile_begin) * p.unit.divisor;
  const int end = piece.kv_begin + (piece.end - piece.tile_begin) * p.unit.divisor;
  return {maximum(begin, seen.begin / kSlice * kSlice), minimum(end, seen.end)};
}

// Every warp works it out for itself, all of its lanes together.
class WorkDivision {
 public:
  __device__ WorkDivision(const AttentionDecodeParameters& p, int block) : lane_(threadIdx.x % 32) {
    units_ = units_of(p, minimum(lane_, p.batch - 1));
    int total = units_;
    if (p.batch > 1) {
      if (lane_ >= p.batch) units_ = 0;
      last_ = up_to_lane(units_);
      total = __shfl_sync(kAllLanes, last_, 31);
      if (p.batch > 32) {
        int others = 0;
#pragma unroll 1
        for (int sequence = lane_ + 32; sequence < p.batch; sequence += 32)
          others += units_of(p, sequence);
        total += __reduce_add_sync(kAllLanes, others);
      }
    }
    share_ = maximum(p.blocks.quotient(total + p.blocks.divisor - 1), p.min_units);
    begin_ = block * share_;
    end_ = minimum(begin_ + share_, total);
  }

  // Of the block; past the end where it has none.
  __device__ int begin() const {
    return begin_;
  }
  __device__ int end() const {
    return end_;
  }

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
    piece.tile_end = piece.tile_begin + work.units;
    piece.end = p.split_is_unit != 0 ? unit + 1 : minimum(end_, piece.tile_end);
    return piece;
  }

  __device__ int share() const {
    return share_;
  }

  // A whole tile.
  __device__ Piece tile(const AttentionDecodeParameters& p, const Sequence& sequence, int q_tile) const {
    const SequenceWork work(p, sequence);
    const int begin = first_unit(p, sequence.index) + q_tile * work.units;
    return {sequence, work.begin, q_tile, begin, begin + work.units, begin, begin + work.units};
  }

 private:
  __device__ static int units_of(const AttentionDecodeParameters& p, int sequence) {
    return SequenceWork(p, Sequence(p, sequence)).all_units();
  }

  __device__ int first_unit(const AttentionDecodeParameters& p, int sequence) const {
    int units = lane_ < sequence ? units_ : 0;
#pragma unroll 1
    for (int other = lane_ + 32; other < sequence; other += 32)
      units += units_of(p, other);
    return p.batch > 1 ? __reduce_add_sync(kAllLanes, units) : 0;
  }

  __device__ int up_to_lane(int units) const {
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const int before = __shfl_up_sync(kAllLanes, units, offset);
      if (lane_ >= offset) units += before;
    }
    return units;
  }

  // Thirty two sequences at a time.
  __device__ void find(const AttentionDecodeParameters& p, int unit, int& sequence, int& first) const {
    int units = units_;
    int last = last_;
    if (p.batch > 32) {
#pragma unroll 1
      for (;;) {
        const int sum = __reduce_add_sync(kAllLanes, units);
        if (unit < first + sum) break;
        first += sum;
        sequence += 32;
        units = sequence + lane_ < p.batch ? units_of(p, sequence + lane_) : 0;
      }
      last = up_to_lane(units);
    }
    const int lane = __ffs(__ballot_sync(kAllLanes, unit < first + last)) - 1;
    sequence += lane;
    first += __shfl_sync(kAllLanes, last - units, lane);
  }

  int lane_;
  int units_;     // of the lane's sequence among the first 32
  int last_ = 0;  // and of those before it
  int share_;
  int begin_;
  int end_;
};

// Where the partial results of a tile lie that several blocks share, one after the other.
struct PartialSlots {
  int count;
  int first;
  int step;      // between the later ones
  int previous;  // what they are counted from
  int own;

  __device__ PartialSlots(const AttentionDecodeParameters& p, const Piece& piece, int share, int block) {
    if (p.split_is_unit != 0) {
      count = piece.tile_end - piece.tile_begin;
      first = previous = piece.tile_begin;
      step = 1;
      own = piece.begin;
      return;
    }
    // A block's piece of a tile that began in an earlier block is its first, and the next one its second.
    const int first_block = piece.tile_begin / share;
    count = (piece.tile_end - 1) / share - first_block + 1;
    previous = 2 * first_block;
    first = previous + (piece.tile_begin == first_block * share ? 0 : 1);
    step = 2;
    own = block == first_block ? first : 2 * block;
  }

  __device__ int slot(int index) const { return index == 0 ? first : previous + step * index; }
};

}  // namespace cubinet::attention
