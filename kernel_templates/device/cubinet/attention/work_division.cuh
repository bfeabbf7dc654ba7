// SPDX-License-Identifier: Apache-2.0
#pragma once
// Divides the KV of all sequences among CTAs, from the lengths in device memory.
//
// KV is counted in units of p.unit tokens. The Q tiles of one KV head form one sequence of units:
// tile after tile, and the tiles of one sequence adjacent. Each tile has as many units as its KV.
// Every CTA gets the same number of consecutive units, whatever tiles they belong to. A CTA
// therefore shares at most two tiles with other CTAs, its first and its last, and neither the grid
// nor the workspace depends on lengths. The CTAs of a cluster get the same units of adjacent tiles,
// which count as one tile here.
//
// Shape: kTileQ, kClusterSize, kPageSize, kCausal, kSlidingWindow, kSeparatePageTables
//        kInvariant   CTAs start to read at a multiple of a segment, otherwise
//        kSlice       at a multiple of this many tokens
#include <cubinet/attention/invariant_sizes.cuh>
#include <cubinet/attention/rows.cuh>

namespace cubinet::attention {

// Prefetches to the L2 cache the length and the page table of a batch of one sequence, for which a
// CTA would otherwise wait one after the other. Reads nothing, so it may precede
// wait_for_prerequisites().
template <class Shape>
__device__ inline void prefetch_look_ups(const AttentionDecodeParameters& p) {
  const int first = 32 * static_cast<int>(threadIdx.x);  // first page table entry of the thread's 128 bytes
  if (p.batch > 1 || first * Shape::kPageSize >= p.max_kv_length || first >= 1024) return;
  if (first == 0) prefetch_to_l2(p.kv_lengths);
  prefetch_to_l2(p.page_table + 4ull * static_cast<unsigned>(first));
  if constexpr (Shape::kSeparatePageTables)
    prefetch_to_l2(p.page_table + static_cast<GlobalAddress>(4ll * (first + p.v_page_table_offset)));
}

// The work of one sequence and one KV head.
template <class Shape>
struct SequenceWorkOf {
  static constexpr int kMultiple = Shape::kInvariant ? kInvariantSegment : Shape::kSlice;

  int begin;    // first token that any row sees, rounded down to a multiple of kMultiple
  int units;    // units of each tile; at least one, because a row that sees nothing is written too
  int q_tiles;  // tiles, or clusters of tiles; 0 if the sequence has no query token

  __device__ SequenceWorkOf(const AttentionDecodeParameters& p, const Sequence& sequence)
      : begin(VisibleOf<Shape>::to_token(p, sequence, 0).begin / kMultiple * kMultiple) {
    const int tokens = maximum(VisibleOf<Shape>::to_token(p, sequence, sequence.q_len - 1).end - begin, 0);
    units = maximum(p.unit.quotient(tokens + p.unit.divisor - 1), 1);
    q_tiles = divide_up(p.group.divisor * sequence.q_len, Shape::kTileQ * Shape::kClusterSize);
  }

  __device__ int all_units() const { return units * q_tiles; }
};

// A work item: the part of one tile that one CTA processes. Units are numbered from the first unit
// of the first sequence.
struct WorkItem {
  Sequence sequence;
  int kv_begin;  // SequenceWorkOf::begin
  int q_tile;
  int tile_begin;
  int tile_end;
  int begin;
  int end;

  __device__ bool is_whole_tile() const { return begin == tile_begin && end == tile_end; }
};

// The division of work, for one CTA. Each warp computes it itself; all lanes of the warp must call
// the constructor, item(), next() and tile().
//
// In a large batch, a lane's loads of kAtOnce sequences are under way together.
template <class Shape, int kAtOnce = 4>
class WorkDivisionOf {
 public:
  using Range = typename VisibleOf<Shape>::Range;

  __device__ WorkDivisionOf(const AttentionDecodeParameters& p, int block)
      : lane_(static_cast<int>(threadIdx.x % 32)),
        block_(block / Shape::kClusterSize),
        rank_(block % Shape::kClusterSize) {
    const int total = units_before(p, p.batch);
    share_ = maximum(p.blocks.quotient(total * Shape::kClusterSize + p.blocks.divisor - 1), p.min_units);
    begin_ = block_ * share_;
    end_ = minimum(begin_ + share_, total);
  }

  // Returns the same division for the lane of this thread, if a thread of another lane computed it.
  __device__ WorkDivisionOf of_this_lane() const {
    WorkDivisionOf own = *this;
    own.lane_ = static_cast<int>(threadIdx.x) % 32;
    if constexpr (Shape::kClusterSize == 1) own.rank_ = 0;
    return own;
  }

  // The units of the CTA: [begin, end); begin is past the end if the CTA has none.
  __device__ int begin() const { return begin_; }
  __device__ int end() const { return end_; }
  __device__ int share() const { return share_; }

  // Returns the work item that starts at `unit`. REQUIRES: begin() <= unit < end().
  __device__ WorkItem item(const AttentionDecodeParameters& p, int unit) const {
    return item_from(p, unit, 0, 0);
  }

  // Returns the work item after another one. Looks for its sequence from that of the other one on.
  // REQUIRES: previous.end < end().
  __device__ WorkItem next(const AttentionDecodeParameters& p, const WorkItem& previous) const {
    const int units = previous.tile_end - previous.tile_begin;
    const int first = previous.tile_begin - previous.q_tile / Shape::kClusterSize * units;
    return item_from(p, previous.end, previous.sequence.index, first);
  }
  // Returns the slot of the CTA's partial result of a shared tile. The first item of a CTA may
  // belong to a tile that an earlier CTA began; the second slot of the CTA is for a tile that a
  // later CTA ends.
  __device__ int slot(const AttentionDecodeParameters& p, const WorkItem& item) const {
    const int of_cluster =
        p.split_is_unit != 0 ? item.begin : 2 * block_ + (item.tile_begin > begin_ ? 1 : 0);
    return of_cluster * Shape::kClusterSize + rank_;
  }

  // Returns a whole tile as one work item.
  __device__ WorkItem tile(const AttentionDecodeParameters& p, const Sequence& sequence, int q_tile) const {
    const SequenceWorkOf<Shape> work(p, sequence);
    const int begin = units_before(p, sequence.index) + q_tile / Shape::kClusterSize * work.units;
    return {sequence, work.begin, q_tile, begin, begin + work.units, begin, begin + work.units};
  }

  __device__ static PackedRows rows_of(const AttentionDecodeParameters& p, const WorkItem& item) {
    return {p.group, p.group.divisor * item.sequence.q_len, item.q_tile * Shape::kTileQ};
  }

  // Returns the tokens of an item that the rows of its tile read. `seen` is the range that at least
  // one row of the tile sees. The first token is a whole number of steps of `kStep` tokens after
  // the sequence's first token: otherwise the last step would read tokens of the next item, which
  // its rows see.
  template <int kStep>
  __device__ static Range tokens_of(const AttentionDecodeParameters& p, const WorkItem& item,
                                    const Range& seen) {
    const int begin = item.kv_begin + (item.begin - item.tile_begin) * p.unit.divisor;
    const int end = item.kv_begin + (item.end - item.tile_begin) * p.unit.divisor;
    const int oldest =
        Shape::kSlidingWindow ? item.kv_begin + (seen.begin - item.kv_begin) / kStep * kStep : 0;
    return {maximum(begin, oldest), minimum(end, seen.end)};
  }

 private:
  // Returns the work item that starts at `unit`. `first` is the first unit of `sequence`, which is
  // not after the item's.
  __device__ WorkItem item_from(const AttentionDecodeParameters& p, int unit, int sequence, int first) const {
    if (p.batch > 1) {
      if (p.batch <= 32) {
        find<1>(p, unit, sequence, first);
      } else {
        find<kAtOnce>(p, unit, sequence, first);
      }
    }
    const Sequence of(p, sequence);
    const SequenceWorkOf<Shape> work(p, of);
    WorkItem item{of, work.begin, 0, first, 0, unit, end_};
    if (work.q_tiles > 1) {
      item.q_tile = (unit - first) / work.units;
      item.tile_begin += item.q_tile * work.units;
    }
    item.q_tile = item.q_tile * Shape::kClusterSize + rank_;
    item.tile_end = item.tile_begin + work.units;
    item.end = p.split_is_unit != 0 && !Shape::kInvariant ? unit + 1 : minimum(end_, item.tile_end);
    return item;
  }

  // Loads the units of kCount sequences, `stride` apart; sequences from `end` on have none.
  template <int kCount>
  __device__ static void load_units(const AttentionDecodeParameters& p, int first, int stride, int end,
                                    int (&units)[kCount]) {
    Sequence sequences[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      sequences[i] = Sequence(p, minimum(first + i * stride, p.batch - 1));
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int of_sequence = SequenceWorkOf<Shape>(p, sequences[i]).all_units();
      units[i] = first + i * stride < end ? of_sequence : 0;
    }
  }

  __device__ int units_before(const AttentionDecodeParameters& p, int sequence) const {
    return __reduce_add_sync(kAllLanes,
                             sequence <= 32 ? own_units<1>(p, sequence) : own_units<kAtOnce>(p, sequence));
  }

  // Returns the lane's part of the units before a sequence.
  template <int kCount>
  __device__ int own_units(const AttentionDecodeParameters& p, int sequence) const {
    int sum = 0;
#pragma unroll 1
    for (int other = lane_; other < sequence; other += 32 * kCount) {
      int units[kCount];
      load_units(p, other, 32, sequence, units);
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        sum += units[i];
    }
    return sum;
  }

  // Finds the sequence of a unit, and the first unit of that sequence, from a sequence before it
  // on. Checks 32 * kCount sequences at a time, of which a lane has adjacent ones.
  template <int kCount>
  __device__ void find(const AttentionDecodeParameters& p, int unit, int& sequence, int& first) const {
#pragma unroll 1
    for (;; sequence += 32 * kCount) {
      int units[kCount];
      load_units(p, sequence + kCount * lane_, 1, p.batch, units);
      int own = 0;
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        own += units[i];
      int end = own;  // end of the lane's sequences
#pragma unroll
      for (int offset = 1; offset < 32; offset *= 2) {
        const int before = __shfl_up_sync(kAllLanes, end, offset);
        if (lane_ >= offset) end += before;
      }
      end += first;
      const unsigned later = __ballot_sync(kAllLanes, unit < end);
      const int lane = later != 0 ? __ffs(static_cast<int>(later)) - 1 : 31;
      first = __shfl_sync(kAllLanes, later != 0 ? end - own : end, lane);
      if (later == 0) continue;
      sequence += kCount * lane;
#pragma unroll
      for (int i = 0; i < kCount - 1; ++i) {
        const int of_sequence = __shfl_sync(kAllLanes, units[i], lane);
        if (unit < first + of_sequence) return;
        first += of_sequence;
        ++sequence;
      }
      return;
    }
  }

  int lane_;
  int block_;  // index of the CTA or cluster
  int rank_;   // rank in the cluster
  int share_;
  int begin_;
  int end_;
};

}  // namespace cubinet::attention
