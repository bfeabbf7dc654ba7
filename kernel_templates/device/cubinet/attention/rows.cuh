// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sequences of a batch, the rows of a Q tile, and the tokens that a row sees.
//
// Shape: kTileQ, kCausal, kCustomMask, kSlidingWindow
// Parameters: AttentionDecodeParameters or AttentionPrefillParameters
#include <cubinet/attention/head_scales.cuh>
#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/paged/page_table.cuh>

namespace cubinet::attention {

using kernel_templates::AttentionDecodeParameters;

// A sequence of the batch.
struct Sequence {
  int index;
  int length;   // KV tokens
  int q_first;  // index of its first query token in the batch; from q_offsets if given
  int q_len;

  Sequence() = default;
  template <class Parameters>
  __device__ Sequence(const Parameters& p, int batch)
      : index(batch), q_first(batch * p.q_len), q_len(p.q_len) {
    const auto offset = 4ull * static_cast<unsigned>(batch);
    const int given = load_global_constant_int(p.kv_lengths + offset);
    if (p.q_offsets != 0) {
      q_first = load_global_constant_int(p.q_offsets + offset);
      q_len = minimum(load_global_constant_int(p.q_offsets + offset + 4) - q_first, p.q_len);
    }
    // A length of -q_len or below counts as no tokens, so that a caller can pad a batch with it.
    length = minimum(given, p.max_kv_length) + (q_len & p.lengths_exclude_new);
    length = minimum(maximum(length, 0), p.max_kv_length);
  }

  // Returns the index of the first element of the sequence in Q or O.
  template <class Parameters>
  __device__ long long first_element(const Parameters& p, long long batch_stride,
                                     long long token_stride) const {
    return p.q_offsets != 0 ? q_first * token_stride : index * batch_stride;
  }

  template <class Parameters>
  __device__ paged::PageTable page_table(const Parameters& p) const {
    return {p.page_table + 4 * (index * p.page_table_stride), 4ll * p.v_page_table_offset};
  }
};

// Returns the factor that converts logits to base 2, without the scales of KV heads and of
// converted Q and K.
template <class Parameters>
__device__ inline float softmax_scale_log2(const Parameters& p) {
  return p.softmax_scale_address != 0 ? fmaxf(load_global_float(p.softmax_scale_address), 0.0f)
                                      : p.softmax_scale_log2;
}

// Returns the factor that converts the logits of one KV head of one sequence to base 2, without the
// scales of converted Q and K.
template <bool kHasHeadScales, class Parameters>
__device__ inline float softmax_scale_log2(const Parameters& p, int sequence, int head_kv) {
  return softmax_scale_log2(p) * k_scale<kHasHeadScales>(p, sequence, head_kv);
}

// Returns the factor of the output, without the scale of V.
template <class Parameters>
__device__ inline float output_scale(const Parameters& p) {
  return p.output_scale_address != 0 ? load_global_float(p.output_scale_address) : p.output_scale;
}

// The rows of one tile of the packed Q of one KV head. Packed row r is head r % group of the group
// and query token r / group.
struct PackedRows {
  kernel_templates::FastDivisor group;
  int count;  // packed rows of the sequence
  int first;  // first packed row of this tile

  __device__ int token(int row) const { return group.quotient(minimum(first + row, count - 1)); }
  __device__ bool holds(int row) const { return first + row < count; }
};

// The KV tokens that query tokens see.
template <class Shape>
struct VisibleOf {
  using Range = paged::TokenRange<Shape::kSlidingWindow>;

  // Returns the tokens that query token `token` of the sequence sees, without a custom mask.
  template <class Parameters>
  __device__ static Range to_token(const Parameters& p, const Sequence& sequence, int token) {
    const int end = maximum(sequence.length - sequence.q_len + token + 1, 0);  // after its own token
    return {Shape::kSlidingWindow ? maximum(end - p.window, 0) : 0, Shape::kCausal ? end : sequence.length};
  }

  // Returns the tokens that at least one row of the tile sees.
  template <class Parameters>
  __device__ static Range to_any_row(const Parameters& p, const Sequence& sequence, const PackedRows& rows) {
    return {to_token(p, sequence, rows.token(0)).begin,
            to_token(p, sequence, rows.token(Shape::kTileQ - 1)).end};
  }

  // Returns the tokens that every row of the tile sees, which need no mask.
  template <class Parameters>
  __device__ static Range to_all_rows(const Parameters& p, const Sequence& sequence, const PackedRows& rows) {
    return {to_token(p, sequence, rows.token(Shape::kTileQ - 1)).begin,
            Shape::kCustomMask ? sequence.length - sequence.q_len : to_token(p, sequence, rows.token(0)).end};
  }
};

}  // namespace cubinet::attention
