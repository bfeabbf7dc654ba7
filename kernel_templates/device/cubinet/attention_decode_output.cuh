// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of the output of decode attention. Of the template: kThreads and kConvertsKv.
#include <cubinet/attention_decode_rows.cuh>
#include <cubinet/e4m3.cuh>
#include <cubinet/types.cuh>

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

// Values of a row are stored as many at a time as one store takes, and at least 4.
template <typename Element, int kCount>
__device__ inline void store_elements(GlobalAddress address, const float (&values)[kCount]) {
  if constexpr (is_same<Element, e4m3>) {
    if constexpr (kCount == 8) {
      store_global_8(address, make_uint2(pack4_e4m3(values), pack4_e4m3(values + 4)));
    } else {
      static_assert(kCount == 16);
      store_global_16(address, make_uint4(pack4_e4m3(values), pack4_e4m3(values + 4), pack4_e4m3(values + 8),
                                          pack4_e4m3(values + 12)));
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; i += Vector16<Element>::kElements)
      store_global_16(address + i * sizeof(Element), Vector16<Element>::pack(values + i));
  }
}

// What a whole row, whose V is of the stored bits, is multiplied by, and its base-2 log-sum-exp: a sink is
// one more logit, without V.
struct RowEnd {
  float factor;
  float lse;

  __device__ RowEnd(const AttentionDecodeParameters& p, int head, float lse_of_tokens) : lse(lse_of_tokens) {
    factor = p.output_scale_address != 0 ? load_global_float(p.output_scale_address) : p.output_scale;
    if constexpr (kConvertsKv) factor *= kE4m3Scale;
    if (p.sinks == 0) return;
    const float sink = load_global_float(p.sinks + 4 * head) * kLog2E;
    const float highest = fmaxf(lse_of_tokens, sink);
    if (highest == negative_infinity()) return;
    const float tokens = exp2_approx(lse_of_tokens - highest);
    const float total = tokens + exp2_approx(sink - highest);
    factor *= tokens * reciprocal_approx(total);
    lse = highest + log2_approx(total);
  }
};

// Stores values of a row that holds all of its tokens, from element `first` on.
template <int kCount>
__device__ inline void store_output(const AttentionDecodeParameters& p, const OutputRow& row, int first,
                                    float (&values)[kCount], const RowEnd& end) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    values[i] *= end.factor;
  store_elements<dtype_o>(row.output(p) + first * sizeof(dtype_o), values);
  if (first == 0 && p.lse != 0) store_global_float(p.lse + 4 * row.index(p), end.lse * kLn2);
}

// The rows of a tile, each of which some threads share: they take 8 elements each of a row at a time.
struct RowParts {
  static constexpr int kElements = 8;
  static constexpr int kParts = head_dim_v / kElements;
  static constexpr int kAll = tile_size_q * kParts;
};

__device__ inline OutputRow output_row(const PackedRows& rows, const Sequence& sequence, int head_kv,
                                       int row) {
  const int packed = rows.first + row;
  const int token = rows.group.quotient(packed);
  return {sequence, token, (head_kv - token) * rows.group.divisor + packed};
}

// Writes the rows of a piece: to the output or, where `slot` is not negative, among the partial results. `merge`
// has what the warps computed.
template <class Merge>
__device__ inline void store_rows(const AttentionDecodeParameters& p, const Merge& merge,
                                  const PackedRows& rows, const Sequence& sequence, int head_kv, int slot) {
  // Unrolled, its divisions would be a good part of the kernel's code and compile time.
#pragma unroll 1
  for (int i = threadIdx.x; i < RowParts::kAll; i += kThreads) {
    const int row = i / RowParts::kParts;
    const int first = i % RowParts::kParts * RowParts::kElements;
    if (!rows.holds(row)) break;
    float values[RowParts::kElements];
    const float lse = merge.take(values, row, first);
    if (slot >= 0) {
      const long long index =
          (static_cast<long long>(slot) * p.heads_kv.divisor + head_kv) * p.partial_rows + row;
      store_elements<fp32>(p.partial_o + 4 * (index * head_dim_v + first), values);
      if (first == 0) store_global_float(p.partial_lse + 4 * index, lse);
    } else {
      const OutputRow target = output_row(rows, sequence, head_kv, row);
      store_output(p, target, first, values, RowEnd(p, target.head, lse));
    }
  }
}

}  // namespace cubinet::attention
