// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of a split of the template `attention_decode`: the warps' results become rows of the output.
#include <cubinet/attention_decode_softmax.cuh>

namespace cubinet::attention {

// The shared memory of the ring, used again to bring the warps' results together.
class MergeBuffer {
 public:
  __device__ explicit MergeBuffer(SharedAddress memory) : output_(memory) {}

  __device__ void put(const RowState& state, int group_kv, int first_row, int lane) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = group_kv * tile_size_q + first_row + (lane >> 2) + 8 * half;
      const float total = lanes_sum<4>(state.sum[half]);
      if ((lane & 3) == 0) store_shared_floats(extremes(row), state.maximum[half], total);
      const SharedAddress target = output_ + row * (kMergeStride * 4) + (lane & 3) * 8;
#pragma unroll
      for (int tile = 0; tile < kTilesV; ++tile)
        store_shared_floats(target + tile * 32, state.output[tile].r[2 * half],
                            state.output[tile].r[2 * half + 1]);
    }
  }

  // Normalised output of one row, 8 elements from element `first` on; returns the base-2 log-sum-exp.
  __device__ float take(float (&values)[8], int row, int first) const {
    float highest = negative_infinity();
#pragma unroll
    for (int w = 0; w < kWarpsKv; ++w)
      highest = fmaxf(highest, load_shared_float(extremes(w * tile_size_q + row)));
    const float offset = highest == negative_infinity() ? 0.0f : highest;
    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      values[i] = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarpsKv; ++w) {
      const int index = w * tile_size_q + row;
      const float weight = exp2_approx(load_shared_float(extremes(index)) - offset);
      total += weight * load_shared_float(extremes(index) + 4);
      const SharedAddress source = output_ + index * (kMergeStride * 4) + first * 4;
      float part[8];
      Vector16<fp32>::unpack(load_shared_16(source), part);
      Vector16<fp32>::unpack(load_shared_16(source + 16), part + 4);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        values[i] += weight * part[i];
    }
    const float scale = total > 0.0f ? reciprocal_approx(total) : 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      values[i] *= scale;
    return total > 0.0f ? offset + log2_approx(total) : negative_infinity();
  }

 private:
  // Where a row's maximum lies; its sum follows.
  __device__ SharedAddress extremes(int row) const {
    return output_ + kWarpsKv * tile_size_q * (kMergeStride * 4) + row * 8;
  }

  SharedAddress output_;  // [kWarpsKv][tile_size_q][kMergeStride] floats
};

// One row of [batch, q_len, heads_q].
struct OutputRow {
  int batch;
  int token;
  int head;

  __device__ long long index(const AttentionDecodeParameters& p) const {
    return (static_cast<long long>(batch) * p.q_len + token) * p.heads_q.divisor + head;
  }
  __device__ GlobalAddress output(const AttentionDecodeParameters& p) const {
    return p.o +
           sizeof(dtype_o) * (batch * p.o_batch_stride + token * p.o_token_stride + head * p.o_head_stride);
  }
};

template <typename Element, int kCount>
__device__ inline void store_elements(GlobalAddress address, const float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i += Vector16<Element>::kElements) {
    store_global_16(address + i * sizeof(Element), Vector16<Element>::pack(values + i));
  }
}

__device__ inline void store_lse(const AttentionDecodeParameters& p, const OutputRow& row, float lse_log2) {
  if (p.lse != 0) store_global_float(p.lse + 4 * row.index(p), lse_log2 * kLn2);
}

// Merges the warps' results and writes the rows: to the output, or to the split's place among the partials.
__device__ inline void store_rows(const AttentionDecodeParameters& p, const MergeBuffer& merge,
                                  const PackedRows& rows, int batch, int head_kv, int split, bool partial) {
  constexpr int kElements = 8;
  constexpr int kVectors = head_dim_v / kElements;
  // Unrolled, its divisions would be a good part of the kernel's code and compile time.
#pragma unroll 1
  for (int i = threadIdx.x; i < tile_size_q * kVectors; i += kThreads) {
    const int row = i / kVectors;
    const int first = i % kVectors * kElements;
    if (!rows.holds(row)) break;
    const int packed = rows.first + row;
    const int token = rows.group.quotient(packed);
    const OutputRow target{batch, token, (head_kv - token) * rows.group.divisor + packed};
    float values[kElements];
    const float lse = merge.take(values, row, first);
    if (partial) {
      const long long index = target.index(p) * p.num_splits.divisor + split;
      store_elements<fp32>(p.partial_o + 4 * (index * head_dim_v + first), values);
      if (first == 0) store_global_float(p.partial_lse + 4 * index, lse);
    } else {
      store_elements<dtype_o>(target.output(p) + first * sizeof(dtype_o), values);
      if (first == 0) store_lse(p, target, lse);
    }
  }
}

// The weights of a row's splits, from their base-2 log-sum-exps. Every warp works them out for itself.
class SplitWeights {
 public:
  __device__ SplitWeights(GlobalAddress lse, int count) {
    const int lane = threadIdx.x % 32;
    float highest = negative_infinity();
#pragma unroll 1
    for (int s = lane; s < count; s += 32)
      highest = fmaxf(highest, load_global_float(lse + 4 * s));
    highest = lanes_max<32>(highest);
    offset_ = highest == negative_infinity() ? 0.0f : highest;
    float total = 0.0f;
#pragma unroll 1
    for (int s = lane; s < count; s += 32)
      total += exp2_approx(load_global_float(lse + 4 * s) - offset_);
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

// Adds up what the workers of the reduction have, and writes the row.
template <int kWorkers>
__device__ inline void store_sum(const AttentionDecodeParameters& p, const OutputRow& row,
                                 const float (&sums)[kWorkers][head_dim_v]) {
  constexpr int kElements = Vector16<dtype_o>::kElements;
  const int first = threadIdx.x * kElements;
  if (first >= head_dim_v) return;
  float values[kElements] = {};
#pragma unroll
  for (int w = 0; w < kWorkers; ++w) {
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      values[i] += sums[w][first + i];
  }
  store_global_16(row.output(p) + threadIdx.x * 16, Vector16<dtype_o>::pack(values));
}

}  // namespace cubinet::attention
