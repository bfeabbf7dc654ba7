// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the template `attention_decode` brings together what several blocks computed of one tile: the block
// that ends last does it, in the order of the pieces, so that the bits do not depend on which one that is.
#include <cubinet/async_copy.cuh>
#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_merge.cuh>

namespace cubinet::attention {

// Whether all of a tile's partial results are there. Called by the whole block, when it has stored its own;
// the answer leaves the counter as it was found before the first.
__device__ inline bool is_last_of_tile(const AttentionDecodeParameters& p, const Piece& piece, int head_kv,
                                       int count) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    const long long tile = static_cast<long long>(piece.sequence) * p.q_tiles + piece.q_tile;
    const GlobalAddress counter = p.counters + 4 * (tile * p.heads_kv.divisor + head_kv);
    last = add_global(counter, 1) == count - 1;
    if (last) store_global_int(counter, 0);
  }
  return __syncthreads_or(last) != 0;
}

// Whether the tile has it: what follows the tile's last may be the next tile's first.
__device__ inline bool is_row(const PackedRows& rows, int row) {
  return row < tile_size_q && rows.holds(row);
}

// The partial results of a tile on their way through shared memory. Every warp has a ring of its own, of
// whole rows, some pieces of them at a time, and walks pass after pass through its rows: latency, not
// bandwidth, is what a block that reduces alone would wait for.
class PartialStream {
 public:
  static constexpr int kAtOnce = 4;  // pieces

  __device__ PartialStream(const AttentionDecodeParameters& p, const PartialSlots& slots,
                           const PackedRows& rows, int head_kv, SharedAddress memory)
      : p_(p),
        slots_(slots),
        rows_(rows),
        head_kv_(head_kv),
        lane_(threadIdx.x % 32),
        ring_(memory + threadIdx.x / 32 * (kDepth * kStageBytes)),
        row_(threadIdx.x / 32 * kWarpRowsAtOnce) {
#pragma unroll 1
    for (int i = 0; i < kDepth; ++i)
      fetch();
    place_ = 0;
  }

  // The next pieces of the warp's rows; `index` of them is the lane's own.
  __device__ void wait() const {
    async_copy_wait<kDepth - 1>();
    __syncwarp();
  }
  __device__ float lse(int index) const {
    return load_shared_float(stage() + kAtOnce * kPieceBytes + 4 * (index * 32 + lane_));
  }
  __device__ void values(int index, float (&values)[8]) const {
    const SharedAddress source = stage() + index * kPieceBytes + lane_ * 32;
    Vector16<fp32>::unpack(load_shared_16(source), values);
    Vector16<fp32>::unpack(load_shared_16(source + 16), values + 4);
  }
  __device__ void release() {
    __syncwarp();
    fetch();
  }

  // Rows of all warps in a pass.
  static constexpr int kPassRows = kThreads / RowParts::kParts;

 private:
  static constexpr int kPieceBytes = 32 * RowParts::kElements * 4;
  static constexpr int kStageBytes = kAtOnce * (kPieceBytes + 32 * 4);
  static constexpr int kDepth = minimum(kWorkBytes / (kThreads / 32 * kStageBytes), 6);
  static constexpr int kWarpRowsAtOnce = 32 / RowParts::kParts;
  static_assert(RowParts::kParts <= 32 && kDepth >= 1, "a warp holds whole rows, and its ring a stage");

  __device__ SharedAddress stage() const {
    return ring_ + place_ * kStageBytes;
  }

  // Into the place that is free, which becomes the newest.
  __device__ void fetch() {
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (piece_ + k >= slots_.count || !is_row(rows_, row_)) break;
      const PartialRow source(p_, slots_.slot(piece_ + k), head_kv_, row_);
      // The rows of a slot lie side by side.
#pragma unroll
      for (int chunk = lane_; chunk < kPieceBytes / 16; chunk += 32) {
        if (is_row(rows_, row_ + chunk * 4 / head_dim_v))
          async_copy_16(stage() + k * kPieceBytes + chunk * 16, source.output(p_, 0) + chunk * 16);
      }
      const int own = lane_ / RowParts::kParts;
      if (is_row(rows_, row_ + own)) {
        async_copy_4(stage() + kAtOnce * kPieceBytes + 4 * (k * 32 + lane_), source.lse(p_) + 4 * own);
      }
    }
    async_copy_commit();
    piece_ += kAtOnce;
    if (piece_ >= slots_.count) {
      piece_ = 0;
      row_ += kPassRows;
    }
    place_ = place_ + 1 == kDepth ? 0 : place_ + 1;
  }

  const AttentionDecodeParameters& p_;
  const PartialSlots& slots_;
  const PackedRows& rows_;
  int head_kv_;
  int lane_;
  SharedAddress ring_;
  int row_;        // the warp's first of what is fetched next
  int piece_ = 0;  // the same
  int place_ = 0;
};

// A running softmax over the partial results, in shared memory that nobody reads or writes any more.
__device__ inline void reduce_rows(const AttentionDecodeParameters& p, const PartialSlots& slots,
                                   const PackedRows& rows, const Sequence& sequence, int head_kv,
                                   SharedAddress memory) {
  constexpr int kElements = RowParts::kElements;
  constexpr int kAtOnce = PartialStream::kAtOnce;
  PartialStream stream(p, slots, rows, head_kv, memory);
  const int first = threadIdx.x % RowParts::kParts * kElements;
#pragma unroll 1
  for (int row = threadIdx.x / RowParts::kParts; __any_sync(kAllLanes, is_row(rows, row));
       row += PartialStream::kPassRows) {
    float values[kElements] = {};
    float highest = negative_infinity();
    float total = 0.0f;
#pragma unroll 1
    for (int piece = 0; piece < slots.count; piece += kAtOnce) {
      stream.wait();
      float newest = highest;
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (piece + k < slots.count) newest = fmaxf(newest, stream.lse(k));
      }
      const float offset = newest == negative_infinity() ? 0.0f : newest;
      const float correction = exp2_approx(highest - offset);
      highest = newest;
      total *= correction;
#pragma unroll
      for (int i = 0; i < kElements; ++i)
        values[i] *= correction;
        // What lies past the end is left out: a weight of 0 would not do, since it may be infinite.
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (piece + k >= slots.count) break;
        float part[kElements];
        stream.values(k, part);
        const float weight = exp2_approx(stream.lse(k) - offset);
        total += weight;
#pragma unroll
        for (int i = 0; i < kElements; ++i)
          values[i] = fmaf(weight, part[i], values[i]);
      }
      stream.release();
    }
    if (!is_row(rows, row)) continue;
    const float scale = total > 0.0f ? reciprocal_approx(total) : 0.0f;
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      values[i] *= scale;
    const OutputRow target = output_row(rows, sequence, head_kv, row);
    const float lse = total > 0.0f ? highest + log2_approx(total) : negative_infinity();
    store_output(p, target, first, values, RowEnd(p, target.head, lse));
  }
  async_copy_wait<0>();
}

}  // namespace cubinet::attention
