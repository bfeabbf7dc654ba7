// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sequences and rows of decode attention, and which tokens a row sees. As all headers that the templates of
// decode attention share, it goes behind the template's own, which says its sizes: kSlice, at a multiple of how
// many tokens a block begins to read.
#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention {

using namespace parameters;
using kernel_templates::AttentionDecodeParameters;

constexpr bool kCustomMask = mask == mask_values::custom;

// What a row's weights are relative to follows its largest logit only where that is so much larger, in powers of two: the
// lanes of a row need not meet for every slice. Larger weights are as exact as others, but for the largest, which is 1
// and not rounded: where it was not, errors of rows of bf16 doubled. Beside elements of e4m3 that does not count.
constexpr float kOffsetSlack = is_same<dtype_kv, e4m3> ? 8.0f : 0.0f;

// One sequence of the batch.
struct Sequence {
  int index;
  int length;   // tokens of KV
  int q_first;  // its first query token, of all that lie side by side
  int q_len;

  __device__ Sequence(const AttentionDecodeParameters& p, int batch)
      : index(batch), q_first(batch * p.q_len), q_len(p.q_len) {
    const auto place = 4ull * static_cast<unsigned>(batch);
    length = minimum(maximum(load_global_constant_int(p.kv_lengths + place), 0), p.max_kv_length);
    if (p.q_offsets != 0) {
      q_first = load_global_constant_int(p.q_offsets + place);
      q_len = minimum(load_global_constant_int(p.q_offsets + place + 4) - q_first, p.q_len);
    }
  }

  // Where its rows begin in Q or O.
  __device__ long long first_element(const AttentionDecodeParameters& p, long long batch_stride,
                                     long long token_stride) const {
    return p.q_offsets != 0 ? q_first * token_stride : index * batch_stride;
  }
};

// By which logits become those of base 2, but for what Q and K were divided by.
__device__ inline float softmax_scale_log2(const AttentionDecodeParameters& p) {
  return p.softmax_scale_address != 0 ? fmaxf(load_global_float(p.softmax_scale_address), 0.0f) : p.softmax_scale_log2;
}

// Row r of the packed Q of one KV head is query token r / group, head r % group of the group.
struct PackedRows {
  kernel_templates::FastDivisor group;
  int count;
  int first;  // of this tile

  __device__ int token(int row) const { return group.quotient(minimum(first + row, count - 1)); }
  __device__ bool holds(int row) const { return first + row < count; }
};

// Without a window the tokens that are asked about never lie before the range: each warp begins within it.
struct KvRange {
  int begin;
  int end;

  __device__ bool holds(int token) const { return token < end && (!sliding_window || token >= begin); }
  __device__ bool holds_slice(int token) const {
    return token + kSlice <= end && (!sliding_window || token >= begin);
  }
};

__device__ inline KvRange visible_to(const AttentionDecodeParameters& p, const Sequence& sequence,
                                     int token) {
  const int own = maximum(sequence.length - sequence.q_len + token + 1, 0);  // the end of what is not newer
  return {sliding_window ? maximum(own - p.window, 0) : 0,
          mask == mask_values::causal ? own : sequence.length};
}

}  // namespace cubinet::attention
