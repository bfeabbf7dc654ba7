// SPDX-License-Identifier: Apache-2.0
#pragma once
// How templates of decode attention bring together what several blocks computed of one tile, always in the
// order of the pieces. Where tiles are few and have many pieces a second kernel does it, a block a row;
// otherwise the block of a tile that ends last, whichever that is.
#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_output.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention {

// As many pieces of a row are on their way at once as a short sequence has, and no more threads: of many rows
// that have few pieces, blocks are counted.
constexpr int kReduceThreads = head_dim_v > 256 ? 256 : 128;
constexpr int kReduceBlocksPerSm = 1024 / kReduceThreads;

// Where the partial results of a KV head's rows lie.
class PartialRows {
 public:
  __device__ PartialRows(const AttentionDecodeParameters& p, int head_kv)
      : lse_(p.partial_lse),
        output_(p.partial_o),
        first_(static_cast<long long>(head_kv) * p.partial_rows),
        slot_rows_(p.heads_kv.divisor * p.partial_rows) {}

  __device__ GlobalAddress lse(int slot, int row) const { return lse_ + 4 * index(slot, row); }
  __device__ GlobalAddress output(int slot, const RowPart& part) const {
    return output_ + 4 * (head_dim_v * index(slot, part.row) + part.first);
  }

 private:
  __device__ long long index(int slot, int row) const {
    return first_ + row + static_cast<long long>(slot) * slot_rows_;
  }

  GlobalAddress lse_;
  GlobalAddress output_;
  long long first_;
  int slot_rows_;
};

// Whether all of a tile's partial results are there. Called by all threads, when they have stored the block's
// own; the answer leaves the counter as it was found before the first.
__device__ inline bool is_last_of_tile(const AttentionDecodeParameters& p, const Piece& piece, int head_kv,
                                       int count) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    const long long tile = static_cast<long long>(piece.sequence.index) * p.q_tiles + piece.q_tile;
    const GlobalAddress counter = p.counters + 4 * (tile * p.heads_kv.divisor + head_kv);
    last = add_global(counter, 1) == count - 1;
    if (last) store_global_int(counter, 0);
  }
  return __syncthreads_or(last) != 0;
}

// A running softmax over partial results of a row: `kElements` of its elements.
template <int kElements>
struct PartialSum {
  float values[kElements] = {};
  float highest = negative_infinity();
  float total = 0.0f;

  // Pieces that have come.
  template <int kPieces>
  __device__ void take(const float (&lse)[kPieces], const uint4 (&parts)[kPieces][kElements / 4]) {
    float newest = highest;
#pragma unroll
    for (int k = 0; k < kPieces; ++k)
      newest = fmaxf(newest, lse[k]);
    const float offset = newest == negative_infinity() ? 0.0f : newest;
    const float correction = exp2_approx(highest - offset);
    highest = newest;
    total *= correction;
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      values[i] *= correction;
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      const float weight = exp2_approx(lse[k] - offset);
      total += weight;
#pragma unroll
      for (int i = 0; i < kElements; i += 4) {
        float part[4];
        Vector16<fp32>::unpack(parts[k][i / 4], part);
#pragma unroll
        for (int j = 0; j < 4; ++j)
          values[i + j] = fmaf(weight, part[j], values[i + j]);
      }
    }
  }

  // Makes the values those of the whole row; returns its base-2 log-sum-exp.
  __device__ float close() {
    const float scale = total != 0.0f ? reciprocal_approx(total) : 0.0f;
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      values[i] *= scale;
    return total != 0.0f ? highest + log2_approx(total) : negative_infinity();
  }
};

// Takes every `step`th piece of some rows from `begin` on, of which several are on their way at once.
template <int kElements, int kRows>
__device__ inline void add_pieces(PartialSum<kElements> (&sums)[kRows], const RowPart (&parts)[kRows],
                                  const PartialRows& partial, const PartialSlots& slots, int begin, int step) {
  constexpr int kAtOnce = 4;
#pragma unroll 1
  for (int first = begin; first < slots.count; first += kAtOnce * step) {
    float lse[kRows][kAtOnce];
    uint4 elements[kRows][kAtOnce][kElements / 4];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int piece = first + k * step;
        const int slot = slots.slot(piece);
        const bool valid = parts[r].is_there && piece < slots.count;
        lse[r][k] = load_global_float_if(valid, partial.lse(slot, parts[r].row), negative_infinity());
#pragma unroll
        for (int i = 0; i < kElements / 4; ++i)
          elements[r][k][i] = load_global_16_or_zero(partial.output(slot, parts[r]) + 16 * i, valid);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      sums[r].take(lse[r], elements[r]);
  }
}

// What a thread has of rows, side by side.
template <int kRows>
struct RowResults {
  RowPart parts[kRows];
  PartialSum<RowParts::kElements> sums[kRows];
  float lse[kRows];
};

// The rows of a tile that several blocks have, brought together.
struct ReducedRows {
  const PartialRows& partial;
  const PartialSlots& slots;

  template <int kRows>
  __device__ void bring(RowResults<kRows>& results) const {
    add_pieces(results.sums, results.parts, partial, slots, 0, 1);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      results.lse[r] = results.sums[r].close();
  }
};

// Those that a block has, or in a second round, of the same code, those that several have.
template <class Merge>
struct PieceRows {
  const Merge& merge;
  ReducedRows reduced;
  bool reduces;

  template <int kRows>
  __device__ void bring(RowResults<kRows>& results) const {
    if (reduces) {
      reduced.bring(results);
    } else {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        results.lse[r] = merge.take(results.sums[r].values, results.parts[r].row, results.parts[r].first);
    }
  }
};

// Writes a tile's rows: to the output or, where `slot` is not negative, as partial results. By `kOfBlock` of the block's
// threads, of which this is `thread`.
template <int kOfBlock, class Source>
__device__ inline void store_rows(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                                  const PartialRows& partial, int head_kv, int slot, int thread, const Source& source) {
  constexpr int kAtOnce = RowParts::at_once(kOfBlock);
  // Unrolled further, its divisions would be a good part of the kernel's code and compile time.
#pragma unroll 1
  for (int begin = thread; begin < RowParts::kAll; begin += kAtOnce * kOfBlock) {
    RowResults<kAtOnce> results;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      results.parts[k] = RowParts::part(rows, begin + k * kOfBlock);
    source.bring(results);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const RowPart& part = results.parts[k];
      if (!part.is_there) break;
      if (slot < 0) {
        const OutputRow target = output_row(rows, sequence, head_kv, part.row);
        store_output(p, target, part.first, results.sums[k].values, RowEnd(p, target.head), results.lse[k]);
      } else {
        store_elements<fp32>(partial.output(slot, part), results.sums[k].values);
        if (part.first == 0) store_global_float(partial.lse(slot, part.row), results.lse[k]);
      }
    }
  }
}

// Writes the rows of a piece, which `merge` has as the warps computed them: to the output or, where blocks
// share the tile, to the block's slot. Then, of such a tile, the block that ends last reduces the partial
// results.
template <class Merge>
__device__ inline void store_piece(const AttentionDecodeParameters& p, const Merge& merge,
                                   const PackedRows& rows, const WorkDivision& division, const Piece& piece,
                                   int head_kv) {
  const bool is_whole = piece.is_whole();
  const PartialRows partial(p, head_kv);
  PartialSlots slots;
#pragma unroll 1
  for (bool reduces = false;; reduces = true) {
    const int slot = is_whole || reduces ? -1 : division.slot(p, piece);
    store_rows<kThreads>(p, rows, piece.sequence, partial, head_kv, slot, threadIdx.x,
                         PieceRows<Merge>{merge, {partial, slots}, reduces});
    if (is_whole || reduces || p.counters == 0) return;
    slots = PartialSlots(p, piece, division.share());
    if (!is_last_of_tile(p, piece, head_kv, slots.count)) return;
  }
}

// By the second kernel: some threads share a row's elements, and such groups its pieces.
class RowReduction {
 public:
  static constexpr int kLanes = head_dim_v > 256 ? 64 : minimum(32, head_dim_v / 4);
  static constexpr int kElements = head_dim_v / kLanes;
  static constexpr int kWorkers = kReduceThreads / kLanes;

  // What the threads meet in.
  struct Memory {
    float4 values[kWorkers][head_dim_v / 4];
    float2 extremes[kWorkers];  // largest log-sum-exp, sum of the weights relative to it
  };

  __device__ static void run(const AttentionDecodeParameters& p, const PartialRows& partial, const PartialSlots& slots,
                             int row_of_tile, const OutputRow& row, const RowEnd& end, Memory& memory) {
    const int worker = threadIdx.x / kLanes;
    const int lane = threadIdx.x % kLanes;
    PartialSum<kElements> sums[1];
    const RowPart part[1] = {{row_of_tile, lane * kElements, true}};
    add_pieces(sums, part, partial, slots, worker, kWorkers);
    const PartialSum<kElements>& sum = sums[0];
#pragma unroll
    for (int i = 0; i < kElements; i += 4)
      memory.values[worker][(lane * kElements + i) / 4] =
          make_float4(sum.values[i], sum.values[i + 1], sum.values[i + 2], sum.values[i + 3]);
    if (lane == 0) memory.extremes[worker] = make_float2(sum.highest, sum.total);
    __syncthreads();
    store(p, row, end, memory);
  }

 private:
  __device__ static void store(const AttentionDecodeParameters& p, const OutputRow& row, const RowEnd& end,
                               const Memory& memory) {
    constexpr int kStored = minimum(16 / int{sizeof(dtype_o)}, 8);  // of sixteen there are no registers
    const int first = threadIdx.x * kStored;
    if (first >= head_dim_v) return;
    PartialSum<kStored> sum;
#pragma unroll 4
    for (int w = 0; w < kWorkers; ++w)
      sum.highest = fmaxf(sum.highest, memory.extremes[w].x);
    const float offset = sum.highest == negative_infinity() ? 0.0f : sum.highest;
#pragma unroll 4
    for (int w = 0; w < kWorkers; ++w) {
      const float2 extremes = memory.extremes[w];
      const float weight = exp2_approx(extremes.x - offset);
      sum.total = fmaf(weight, extremes.y, sum.total);
#pragma unroll
      for (int i = 0; i < kStored; i += 4) {
        const float4 part = memory.values[w][(first + i) / 4];
        sum.values[i] = fmaf(weight, part.x, sum.values[i]);
        sum.values[i + 1] = fmaf(weight, part.y, sum.values[i + 1]);
        sum.values[i + 2] = fmaf(weight, part.z, sum.values[i + 2]);
        sum.values[i + 3] = fmaf(weight, part.w, sum.values[i + 3]);
      }
    }
    const float lse = sum.close();
    store_output(p, row, first, sum.values, end, lse);
  }
};

// The second kernel: one thread block an output row, on a grid of (heads_q, q_len, batch). Rows of tiles that
// one block had were written by it. What is read before the wait, the first kernel has read, behind whose own
// wait this one starts.
__device__ inline void reduce_output_row(const AttentionDecodeParameters& p) {
  __shared__ RowReduction::Memory memory;
  launch_dependents();
  const int head = static_cast<int>(blockIdx.x);
  const int token = static_cast<int>(blockIdx.y);
  const Sequence sequence(p, static_cast<int>(blockIdx.z));
  const int head_kv = p.group.quotient(head);
  const int packed = token * p.group.divisor + head - head_kv * p.group.divisor;
  const WorkDivision division(p, 0);
  const PartialSlots slots(p, division.tile(p, sequence, packed / tile_size_q), division.share());
  const RowEnd end(p, head);
  wait_for_prerequisites();
  if (token < sequence.q_len && slots.count > 1)
    RowReduction::run(p, PartialRows(p, head_kv), slots, packed % tile_size_q, OutputRow{sequence, token, head}, end, memory);
}

}  // namespace cubinet::attention
