// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of the output of decode attention. Of the template: kThreads and kConvertsKv.
#include <cubinet/attention_decode_rows.cuh>
#include <cubinet/e4m3.cuh>
#include <cubinet/elements.cuh>

namespace cubinet::attention {

// One row of the output: a head of a sequence's query token.
struct OutputRow {
  const Sequence& sequence;
  int token;
  int head;

  __device__ long long index(const AttentionDecodeParameters& p) const {
    return (static_cast<long long>(sequence.q_first) + token) * p.heads_q + head;
  }
  __device__ GlobalAddress output(const AttentionDecodeParameters& p) const {
    return p.o + sizeof(dtype_o) * (sequence.first_element(p, p.o_batch_stride, p.o_token_stride) +
                                    token * p.o_token_stride + head * p.o_head_stride);
  }
};

// Two elements, as a lane has them of a tile of products.
template <typename Element>
__device__ inline void store_two_elements(GlobalAddress address, float first, float second) {
  if constexpr (is_same<Element, fp32>) {
    store_global_8(address, make_uint2(__float_as_uint(first), __float_as_uint(second)));
  } else if constexpr (is_same<Element, e4m3>) {
    const float values[4] = {first, second, 0.0f, 0.0f};
    store_global_2(address, pack4_e4m3(values));
  } else {
    store_global_4(address, pack2<Element>(first, second));
  }
}

// What a whole row, whose V is of the stored bits, is multiplied by: a sink is one more logit, without V.
struct RowEnd {
  float factor;
  float sink;  // base 2

  __device__ RowEnd(const AttentionDecodeParameters& p, int head)
      : factor(p.output_scale_address != 0 ? load_global_float(p.output_scale_address) : p.output_scale),
        sink(p.sinks != 0 ? load_global_float(p.sinks + 4 * head) * kLog2E : negative_infinity()) {
    if constexpr (kConvertsKv) factor *= kE4m3Scale;
  }

  // Takes the base-2 log-sum-exp of the row's tokens, and returns that of the row.
  __device__ float close(float lse_of_tokens) {
    if (sink == negative_infinity()) return lse_of_tokens;
    const float highest = fmaxf(lse_of_tokens, sink);
    const float tokens = exp2_approx(lse_of_tokens - highest);
    const float total = tokens + exp2_approx(sink - highest);
    factor *= tokens * reciprocal_approx(total);
    return highest + log2_approx(total);
  }
};

// Stores values of a row that holds all of its tokens, from element `first` on. `lse` is of base 2.
template <int kCount>
__device__ inline void store_output(const AttentionDecodeParameters& p, const OutputRow& row, int first,
                                    float (&values)[kCount], RowEnd end, float lse) {
  lse = end.close(lse);
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    values[i] *= end.factor;
  store_elements<dtype_o>(row.output(p) + first * sizeof(dtype_o), values);
  if (first == 0 && p.lse != 0) store_global_float(p.lse + 4 * row.index(p), lse * kLn2);
}

// Elements of one of a tile's rows that a thread has, from element `first` on.
struct RowPart {
  int row = 0;
  int first = 0;
  bool is_there = false;
};

// The rows of a tile, each of which some threads share: they take 8 elements each of a row at a time.
struct RowParts {
  static constexpr int kElements = 8;
  static constexpr int kParts = head_dim_v / kElements;
  static constexpr int kAll = tile_size_q * kParts;
  // That each of so many threads takes side by side. Of one alone it would wait for every latency, which is felt where
  // there are many; of few it would be code to compile.
  __host__ __device__ static constexpr int at_once(int threads) {
    return tile_size_q > 32 && kAll % (2 * threads) == 0 ? 2 : 1;
  }

  __device__ static RowPart part(const PackedRows& rows, int index) {
    const int row = index / kParts;
    return {row, index % kParts * kElements, rows.holds(row)};
  }
};

__device__ inline OutputRow output_row(const PackedRows& rows, const Sequence& sequence, int head_kv,
                                       int row) {
  const int packed = rows.first + row;
  const int token = rows.group.quotient(packed);
  return {sequence, token, (head_kv - token) * rows.group.divisor + packed};
}

}  // namespace cubinet::attention
