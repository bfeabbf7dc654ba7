// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order in which CTAs compute the tiles of Q, from the lengths in device memory.
//
// Sequences are taken in groups of 32, one for each lane of a warp. In a group, the tiles with the
// most KV come first: a tile has a level, the position of its last row in units of a tile, and
// levels descend. All KV heads of a tile follow each other.
//
// Shape: kTileQ
//        kColumnParts   parts of the columns of V, which are tiles of their own
#include <cubinet/attention/rows.cuh>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>

namespace cubinet::attention_prefill {

using attention::PackedRows;
using attention::Sequence;
using kernel_templates::AttentionPrefillParameters;

// A tile of Q.
template <class Shape>
struct TileOf {
  Sequence sequence;
  int q_tile;
  int head_kv;
  int column_part;

  __device__ PackedRows rows(const AttentionPrefillParameters& p) const {
    return {p.group, p.group.divisor * sequence.q_len, q_tile * Shape::kTileQ};
  }
};

// The tiles of one KV head of a lane's sequence. The last one has the highest level, each earlier
// one is a level lower.
template <class Shape>
struct LaneTiles {
  int count = 0;
  int level = 0;

  __device__ LaneTiles(const AttentionPrefillParameters& p, int sequence) {
    if (sequence >= p.batch) return;
    const Sequence of(p, sequence);
    count = maximum(divide_up(p.group.divisor * of.q_len, Shape::kTileQ), 0);
    level = of.length / maximum(Shape::kTileQ / p.group.divisor, 1);
  }

  // Returns the tiles above a level.
  __device__ int above(int of_level) const { return minimum(maximum(level - of_level, 0), count); }
};

// Finds the tile with this index in the order. Returns false if there are fewer tiles. All lanes of
// a warp must call it together.
template <class Shape>
__device__ inline bool find_tile(const AttentionPrefillParameters& p, int index, TileOf<Shape>& tile) {
  const int lane = threadIdx.x % 32;
  const int whole = index / Shape::kColumnParts;
  tile.column_part = index % Shape::kColumnParts;
  int rank = p.heads_kv.quotient(whole);
  tile.head_kv = whole - rank * p.heads_kv.divisor;
#pragma unroll 1
  for (int first = 0; first < p.batch; first += 32) {
    const LaneTiles<Shape> own(p, first + lane);
    const int total = __reduce_add_sync(kAllLanes, own.count);
    if (rank >= total) {
      rank -= total;
      continue;
    }
    // The highest level with more than `rank` tiles above it, and the lowest without.
    int lower = __reduce_min_sync(kAllLanes, own.level - own.count);
    int level = __reduce_max_sync(kAllLanes, own.level);
#pragma unroll 1
    while (level - lower > 1) {
      const int middle = lower + (level - lower) / 2;
      if (__reduce_add_sync(kAllLanes, own.above(middle)) > rank) {
        lower = middle;
      } else {
        level = middle;
      }
    }
    rank -= __reduce_add_sync(kAllLanes, own.above(level));
    const unsigned with_level = __ballot_sync(kAllLanes, own.above(level - 1) > own.above(level));
    const int before = __popc(with_level & ((1u << lane) - 1));
    const unsigned chosen = __ballot_sync(kAllLanes, (with_level >> lane & 1) != 0 && before == rank);
    const int of_lane = __ffs(static_cast<int>(chosen)) - 1;
    tile.q_tile = __shfl_sync(kAllLanes, own.count - 1 - (own.level - level), of_lane);
    tile.sequence = Sequence(p, first + of_lane);
    return true;
  }
  return false;
}

// Counts the CTAs that have ended. The last one sets the counters to zero for the next run. One
// thread of each CTA must call it after its last use of the counters.
__device__ inline void release_counters(const AttentionPrefillParameters& p) {
  if (add_global(p.counters + 4, 1) != static_cast<int>(gridDim.x) - 1) return;
  store_global_int(p.counters, 0);
  store_global_int(p.counters + 4, 0);
}

}  // namespace cubinet::attention_prefill
