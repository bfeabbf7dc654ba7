// SPDX-License-Identifier: Apache-2.0
#pragma once
// The splits of KV of prefill attention. Split i has the tokens from i * split_tokens on. The
// splits of a row are those with tokens that the row sees. A row with one split is complete when
// its tile is. A row with more has a partial result for each, which `attention_prefill_combine`
// combines.
#include <cubinet/kernel_templates/attention_prefill_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>

namespace cubinet::attention {

using kernel_templates::AttentionPrefillParameters;

// The splits of a row that sees the tokens [begin, end). A row that sees none has the first one.
struct RowSplits {
  int first = 0;
  int last = 0;

  __device__ RowSplits(const AttentionPrefillParameters& p, int begin, int end) {
    if (p.split_tokens == 0 || end <= begin) return;
    first = begin / p.split_tokens;
    last = (end - 1) / p.split_tokens;
  }
  __device__ bool is_one() const { return first == last; }
};

// Returns the index of a row in the partial results. `token` is the query token in its sequence.
__device__ inline long long partial_row(const AttentionPrefillParameters& p, int split, int sequence,
                                        int token, int head) {
  const long long of_split = static_cast<long long>(split) * p.batch + sequence;
  return (of_split * p.q_len + token) * p.heads_q.divisor + head;
}

}  // namespace cubinet::attention
