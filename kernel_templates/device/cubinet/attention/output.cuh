// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of the output: scales, sinks and LSEs.
//
// Shape: Output, kConvertsKv, kHeadDimV, kTileQ
#include <cubinet/attention/invariant.cuh>
#include <cubinet/attention/rows.cuh>
#include <cubinet/attention/shape.cuh>
#include <cubinet/elements.cuh>

namespace cubinet::attention {

// A row of the output: one head of one query token of a sequence.
struct OutputRow {
  const Sequence& sequence;
  int token;
  int head;

  // Returns the index of the row in the LSE tensor.
  __device__ long long index(const AttentionDecodeParameters& p) const {
    return (static_cast<long long>(sequence.q_first) + token) * p.heads_q + head;
  }
  template <typename Element, class Parameters>
  __device__ GlobalAddress address(const Parameters& p) const {
    return p.o + sizeof(Element) * (sequence.first_element(p, p.o_batch_stride, p.o_token_stride) +
                                    token * p.o_token_stride + head * p.o_head_stride);
  }
};

// Returns the output row of row `row` of a tile of KV head `head_kv`.
__device__ inline OutputRow output_row(const PackedRows& rows, const Sequence& sequence, int head_kv,
                                       int row) {
  const int packed = rows.first + row;
  const int token = rows.group.quotient(packed);
  return {sequence, token, (head_kv - token) * rows.group.divisor + packed};
}

// Stores two adjacent elements, as a lane holds them in a product tile.
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

// The epilogue of one row: the factor of its output, and its sink. A sink is an additional logit
// without V.
template <bool kConvertsKv>
struct RowEpilogue {
  float factor;
  float sink;  // base-2 logit

  // `v_scale` is that of the row's KV head.
  template <class Parameters>
  __device__ RowEpilogue(const Parameters& p, int head, float v_scale)
      : factor(output_scale(p)),
        sink(p.sinks != 0 ? load_global_float(p.sinks + 4 * head) * kLog2E : negative_infinity()) {
    if constexpr (kConvertsKv) factor *= kE4m3Scale;
    factor *= v_scale;
  }

  // Adds the sink to the base-2 LSE of the row's tokens and to `factor`. Returns the base-2 LSE of
  // the row.
  __device__ float add_sink(float lse_of_tokens) {
    if (sink == negative_infinity()) return lse_of_tokens;
    const float highest = fmaxf(lse_of_tokens, sink);
    const float tokens = exp2_approx(lse_of_tokens - highest);
    const float total = tokens + exp2_approx(sink - highest);
    factor *= tokens * reciprocal_approx(total);
    return highest + log2_approx(total);
  }
};

// Stores normalised elements of a complete row, starting at element `first`. `lse` is the base-2
// LSE of the row's tokens.
template <typename Element, bool kConvertsKv, int kCount>
__device__ inline void store_output(const AttentionDecodeParameters& p, const OutputRow& row, int first,
                                    float (&values)[kCount], RowEpilogue<kConvertsKv> epilogue, float lse) {
  lse = epilogue.add_sink(lse);
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    values[i] *= epilogue.factor;
  store_elements<Element>(row.address<Element>(p) + first * sizeof(Element), values);
  if (first == 0 && p.lse != 0) store_global_float(p.lse + 4 * row.index(p), lse * kLn2);
}

// The end of a row with invariant numerics: the sink, one division and the LSE.
struct FinishedRow {
  float kept;    // the factor of the sink
  float factor;  // the factor that normalises
  float lse;     // natural logarithm

  // `fold` has all segments of the row.
  __device__ FinishedRow(const RowEpilogue<false>& epilogue, RowFold fold) {
    kept = fold.add_sink(epilogue.sink);
    factor = fold.normaliser(epilogue.factor);
    lse = __fmul_rn(fold.lse(), kLn2);
  }

  __device__ float normalised(float value) const { return __fmul_rn(__fmul_rn(value, kept), factor); }
};

// The part of a tile's row that a thread processes, from element `first` on.
struct RowPart {
  int row = 0;
  int first = 0;
  bool is_there = false;  // whether the tile has the row
};

// Divides the rows of a tile into parts of 8 elements.
template <class Shape>
struct RowPartsOf {
  static constexpr int kElements = 8;
  static constexpr int kParts = Shape::kHeadDimV / kElements;  // parts of a row
  static constexpr int kAll = Shape::kTileQ * kParts;

  // Returns the number of parts that each of `threads` threads processes at once. A single part
  // would wait for every latency, which matters for tall tiles; for other tiles more parts would
  // only cost compile time.
  __host__ __device__ static constexpr int at_once(int threads) {
    return Shape::kTileQ > 32 && kAll % (2 * threads) == 0 ? 2 : 1;
  }

  __device__ static RowPart part(const PackedRows& rows, int index) {
    const int row = index / kParts;
    return {row, index % kParts * kElements, rows.holds(row)};
  }
};

}  // namespace cubinet::attention
