// SPDX-License-Identifier: Apache-2.0
#pragma once
// The by-value argument of the kernel of the template `attention_reduction`. The host's compiler
// and NVRTC (which has no standard headers) both compile it, and the assertions check the layout on
// both sides. A change of any field is a new interface version of the template.
#include <cubinet/kernel_templates/fast_divisor.h>

namespace cubinet::kernel_templates {

// Addresses are device addresses (CUdeviceptr); all tensors are contiguous.
//
// A tile is tile_size_q rows of Q of one sequence: tokens_per_tile tokens of heads_per_tile heads.
// Row r is token r / heads_per_tile and head r % heads_per_tile of the tile; further rows are
// unused. gridDim.y counts tiles by heads, then by their head_dim_tiles parts of the head dim. The
// last token of a sequence sees all of its KV, each earlier one a token less.
struct AttentionReductionParameters {
  unsigned long long o;  // [tokens, heads_q, head_dim_per_tile * head_dim_tiles]; multiple of 16 bytes
  // [batch, gridDim.y, tiles_q, max_splits, tile_size_q, head_dim_per_tile], multiple of 16 bytes:
  // the sums of V weighted by the probabilities of a split, times the scale of the output. The
  // probability of the split's largest logit is 1.
  unsigned long long partial_o;
  // [batch, gridDim.y, tiles_q, max_splits, tile_size_q] pairs of fp32, multiple of 8 bytes: the
  // largest logit, before the softmax scale, and the sum of the probabilities. The sum is
  // multiplied by 448 if dtype_q is e4m3.
  unsigned long long partial_stats;
  unsigned long long kv_lengths;  // [batch] int32: tokens of each sequence, 0 allowed
  unsigned long long q_offsets;   // [batch + 1] int32: first token of each sequence; 0: all have q_len
  unsigned long long sinks;       // [heads_q] fp32, natural logits without V; 0: none
  // [tokens, heads_q] pairs of fp32, multiple of 8 bytes: the largest logit (scaled, natural,
  // including the sink) and the sum of the probabilities; (-infinity, 0) if a row sees no KV. 0:
  // not written.
  unsigned long long softmax_stats;
  unsigned long long softmax_scale_address;  // one fp32 that replaces softmax_scale_log2; 0: none

  float softmax_scale_log2;  // softmax scale times log2(e), > 0
  int q_len;                 // query tokens of a sequence without q_offsets
  int heads_q;
  int max_splits;     // maximum; a sequence has one split for each 128 tokens that a tile sees
  int max_kv_tokens;  // maximum that a row sees: top_k of sparse attention, else longest length
  int tokens_per_tile;

  FastDivisor tiles_q;         // tiles of the longest sequence; gridDim.x is a multiple
  FastDivisor heads_per_tile;  // of one KV head; tokens_per_tile * heads_per_tile <= tile_size_q
  FastDivisor head_dim_tiles;  // gridDim.y is heads_q / heads_per_tile * head_dim_tiles
};

static_assert(sizeof(AttentionReductionParameters) == 136 && alignof(AttentionReductionParameters) == 8,
              "AttentionReductionParameters changed its size");
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, o, 0);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, partial_o, 8);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, partial_stats, 16);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, kv_lengths, 24);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, q_offsets, 32);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, sinks, 40);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, softmax_stats, 48);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, softmax_scale_address, 56);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, softmax_scale_log2, 64);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, q_len, 68);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, heads_q, 72);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, max_splits, 76);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, max_kv_tokens, 80);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, tokens_per_tile, 84);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, tiles_q, 88);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, heads_per_tile, 104);
CUBINET_ASSERT_OFFSET(AttentionReductionParameters, head_dim_tiles, 120);

}  // namespace cubinet::kernel_templates
