// SPDX-License-Identifier: Apache-2.0
#pragma once
// How templates of decode attention bring together what several blocks computed of one tile, always in the
// order of the pieces. Where tiles are few and have many pieces a second kernel does it, a block a row;
// otherwise the block of a tile that ends last, whichever that is.
#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_output.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention {

constexpr int kReduceThreads = 128;
constexpr int kReduceBlocksPerSm = 8;

// A row's partial results.
class PartialRow {
 public:
  __device__ PartialRow(const AttentionDecodeParameters& p, const PartialSlots& slots, int head_kv, int row)
      : p_(p),
        slots_(slots),
        first_(static_cast<long long>(head_kv) * p.partial_rows + row),
        slot_rows_(p.heads_kv.divisor * p.partial_rows) {}

  __device__ long long index(int piece) const {
    return first_ + static_cast<long long>(slots_.slot(piece)) * slot_rows_;
  }
  __device__ GlobalAddress lse(int piece) const { return p_.partial_lse + 4 * index(piece); }
  __device__ GlobalAddress output(int piece) const { return p_.partial_o + 4 * head_dim_v * index(piece); }

 private:
  const AttentionDecodeParameters& p_;
  const PartialSlots& slots_;
  long long first_;
  int slot_rows_;
};

// Whether all of a tile's partial results are there. Called by the whole block, when it has stored its own;
// the answer leaves the counter as it was found before the first.
__device__ inline bool is_last_of_tile(const AttentionDecodeParameters& p, const Piece& piece, int head_kv,
                                       int count) {
  if (p.counters == 0) return false;
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

// A running softmax over partial results, some of which are on their way at a time.
__device__ inline void reduce_rows(const AttentionDecodeParameters& p, const PartialSlots& slots,
                                   const PackedRows& rows, const Sequence& sequence, int head_kv) {
  constexpr int kElements = RowParts::kElements;
  constexpr int kAtOnce = kRegisters > 128 ? 8 : 4;
#pragma unroll 1
  for (int item = threadIdx.x; item < RowParts::kAll; item += kThreads) {
    const int row = item / RowParts::kParts;
    const int first = item % RowParts::kParts * kElements;
    if (!rows.holds(row)) break;
    const PartialRow source(p, slots, head_kv, row);
    float values[kElements] = {};
    float highest = negative_infinity();
    float total = 0.0f;
    // Past the end the last is read again and left out, which takes no loop of its own. A weight of 0 would
    // not do: a partial result may be infinite.
#pragma unroll 1
    for (int piece = 0; piece < slots.count; piece += kAtOnce) {
      float lse[kAtOnce];
      uint4 parts[kAtOnce][2];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int of = minimum(piece + k, slots.count - 1);
        lse[k] = load_global_float(source.lse(of));
        parts[k][0] = load_global_16(source.output(of) + 4 * first);
        parts[k][1] = load_global_16(source.output(of) + 4 * first + 16);
      }
      float newest = highest;
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        newest = fmaxf(newest, lse[k]);
      const float offset = newest == negative_infinity() ? 0.0f : newest;
      const float correction = exp2_approx(highest - offset);
      highest = newest;
      total *= correction;
#pragma unroll
      for (int i = 0; i < kElements; ++i)
        values[i] *= correction;
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (piece + k >= slots.count) break;
        float part[kElements];
        Vector16<fp32>::unpack(parts[k][0], part);
        Vector16<fp32>::unpack(parts[k][1], part + 4);
        const float weight = exp2_approx(lse[k] - offset);
        total += weight;
#pragma unroll
        for (int i = 0; i < kElements; ++i)
          values[i] = fmaf(weight, part[i], values[i]);
      }
    }
    const float scale = total > 0.0f ? reciprocal_approx(total) : 0.0f;
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      values[i] *= scale;
    const OutputRow target = output_row(rows, sequence, head_kv, row);
    const float lse = total > 0.0f ? highest + log2_approx(total) : negative_infinity();
    store_output(p, target, first, values, RowEnd(p, target.head, lse));
  }
}

// The weights of a row's pieces, from their base-2 log-sum-exps. Every warp works them out for itself.
class PieceWeights {
 public:
  __device__ PieceWeights(const PartialRow& row, int count) {
    const int lane = threadIdx.x % 32;
    float highest = negative_infinity();
#pragma unroll 1
    for (int piece = lane; piece < count; piece += 32)
      highest = fmaxf(highest, load_global_float(row.lse(piece)));
    highest = lanes_max<32>(highest);
    offset_ = highest == negative_infinity() ? 0.0f : highest;
    float total = 0.0f;
#pragma unroll 1
    for (int piece = lane; piece < count; piece += 32)
      total += exp2_approx(load_global_float(row.lse(piece)) - offset_);
    total_ = lanes_sum<32>(total);
    inverse_ = total_ > 0.0f ? reciprocal_approx(total_) : 0.0f;
  }

  __device__ float of(float lse) const {
    return exp2_approx(lse - offset_) * inverse_;
  }
  __device__ float lse() const {
    return total_ > 0.0f ? offset_ + log2_approx(total_) : negative_infinity();
  }

 private:
  float offset_;
  float total_;
  float inverse_;
};

// Adds up what the workers of the second kernel have, and writes the row.
template <int kWorkers>
__device__ inline void store_sum(const AttentionDecodeParameters& p, const OutputRow& row,
                                 const float (&sums)[kWorkers][head_dim_v], const RowEnd& end) {
  constexpr int kElements = 16 / int{sizeof(dtype_o)};
  const int first = threadIdx.x * kElements;
  if (first >= head_dim_v) return;
  float values[kElements] = {};
#pragma unroll
  for (int w = 0; w < kWorkers; ++w) {
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      values[i] += sums[w][first + i];
  }
  store_output(p, row, first, values, end);
}

// The second kernel: one thread block an output row, on a grid of (heads_q, q_len, batch). Rows of tiles that
// one block had were written by it.
__device__ inline void reduce_output_row(const AttentionDecodeParameters& p) {
  constexpr int kLanes = minimum(32, head_dim_v / 4);  // each takes vectors of 4 floats
  constexpr int kVectors = head_dim_v / 4 / kLanes;
  constexpr int kWorkers = kReduceThreads / kLanes;
  constexpr int kAtOnce = 4;
  __shared__ __align__(16) float sums[kWorkers][head_dim_v];

  const int head = static_cast<int>(blockIdx.x);
  const int token = static_cast<int>(blockIdx.y);
  wait_for_prerequisites();
  launch_dependents();
  const Sequence sequence(p, static_cast<int>(blockIdx.z));
  if (token >= sequence.q_len) return;
  const int head_kv = p.group.quotient(head);
  const int packed = token * p.group.divisor + head - head_kv * p.group.divisor;
  const WorkDivision division(p, 0);
  const Piece tile = division.tile(p, sequence, packed / tile_size_q);
  const PartialSlots slots(p, tile, division.share(), 0);
  if (slots.count == 1) return;

  const PartialRow row(p, slots, head_kv, packed % tile_size_q);
  const PieceWeights weights(row, slots.count);
  const RowEnd end(p, head, weights.lse());  // while the partial results are on their way
  const int worker = threadIdx.x / kLanes;
  const int lane = threadIdx.x % kLanes;
  float values[kVectors][4] = {};
  // A few partials are on their way at a time; past the end the last is read again and left out, which takes
  // no loop of its own. A weight of 0 would not do: a partial may be infinite.
#pragma unroll 1
  for (int first = worker; first < slots.count; first += kAtOnce * kWorkers) {
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const bool counts = first + k * kWorkers < slots.count;
      const int piece = minimum(first + k * kWorkers, slots.count - 1);
      const float weight = weights.of(load_global_float(row.lse(piece)));
      const GlobalAddress partial = row.output(piece) + lane * 16;
#pragma unroll
      for (int j = 0; j < kVectors; ++j) {
        float part[4];
        Vector16<fp32>::unpack(load_global_16(partial + j * kLanes * 16), part);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          values[j][i] = counts ? fmaf(weight, part[i], values[j][i]) : values[j][i];
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    *reinterpret_cast<float4*>(&sums[worker][(j * kLanes + lane) * 4]) =
        make_float4(values[j][0], values[j][1], values[j][2], values[j][3]);
  }
  __syncthreads();
  store_sum(p, OutputRow{sequence, token, head}, sums, end);
}

}  // namespace cubinet::attention
