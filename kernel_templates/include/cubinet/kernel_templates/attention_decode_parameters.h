// SPDX-License-Identifier: Apache-2.0
#pragma once
// The by-value argument of the kernels of decode attention and of `attention_combine`. The host's
// compiler and NVRTC (which has no standard headers) both compile it, and the assertions check the
// layout on both sides. A change of any field is a new interface version of the template.
#include <cubinet/kernel_templates/fast_divisor.h>

namespace cubinet::kernel_templates {

// Addresses are device addresses (CUdeviceptr). Strides count elements; the innermost dimension is
// contiguous. q, k, v, o, all their strides and partial_o are multiples of 16 bytes.
struct AttentionDecodeParameters {
  // [batch, q_len, heads_q, head_dim_qk]. If q_offsets: [tokens, heads_q, head_dim_qk]; O and LSE
  // then begin with [tokens, heads_q] too.
  unsigned long long q;
  unsigned long long k;    // [pages, page_size, heads_kv, head_dim_qk] in any stride order
  unsigned long long v;    // [pages, page_size, heads_kv, head_dim_v] in any stride order
  unsigned long long o;    // [batch, q_len, heads_q, head_dim_v]
  unsigned long long lse;  // [batch, q_len, heads_q] fp32, natural logarithm; 0: not written
  // Partial results of rows whose KV is split over several blocks: [slots, heads_kv, partial_rows,
  // head_dim_v] fp32, and their log-sum-exps without the last dimension, base 2. The number of
  // slots is the maximum of units of all tiles if split_is_unit, otherwise two for each of
  // `blocks`.
  unsigned long long partial_o;
  unsigned long long partial_lse;
  // [batch, q_tiles, heads_kv] int32. Zero before and after every run. 0: attention_combine
  // follows.
  unsigned long long counters;
  unsigned long long page_table;  // [batch, page_table_stride] int32: physical page of each logical page
  unsigned long long kv_lengths;  // [batch] int32: tokens of each sequence, see lengths_exclude_new
  unsigned long long q_offsets;   // [batch + 1] int32: first token of each sequence; 0: all have q_len
  unsigned long long sinks;       // [heads_q] fp32, natural logits without V; 0: none
  unsigned long long mask;        // [tokens of Q, mask_words] uint32; read for a custom mask
  unsigned long long softmax_scale_address;  // one fp32 that replaces softmax_scale_log2; 0: none
  unsigned long long output_scale_address;   // one fp32 that replaces output_scale; 0: none

  long long q_batch_stride;
  long long q_token_stride;
  long long q_head_stride;
  long long k_page_stride;
  long long k_token_stride;
  long long k_head_stride;
  long long v_page_stride;
  long long v_token_stride;
  long long v_head_stride;
  long long o_batch_stride;
  long long o_token_stride;
  long long o_head_stride;
  long long page_table_stride;

  int batch;
  int q_len;                 // if q_offsets: the maximum of a sequence
  int q_tiles;               // maximum of a sequence: ceil(q_len * group / tile_size_q)
  int heads_q;               // a multiple of heads_kv
  int partial_rows;          // maximum rows of a tile
  int min_units;             // minimum units of a block, even if some blocks then have none
  int split_is_unit;         // 1: each unit is a split; 0: a split is a block's part of a tile
  int window;                // newest tokens that a query sees, including itself; read if sliding_window
  int max_kv_length;         // longer lengths are clamped to it, the size of the page table
  float softmax_scale_log2;  // softmax scale times log2(e), > 0
  float output_scale;
  float soft_cap;           // > 0; read if soft_cap
  int mask_words;           // of a query token
  int v_page_table_offset;  // from a sequence's K entries to its V entries; read if separate_page_tables
  int lengths_exclude_new;  // -1: a sequence has as many more tokens as it has query tokens; else 0
  int reserved;             // 0

  FastDivisor heads_kv;
  FastDivisor group;   // query heads of one KV head
  FastDivisor unit;    // KV tokens of one work unit; a multiple of tile_size_kv
  FastDivisor blocks;  // blocks that share the units of one KV head; main grid: blocks * heads_kv

  // [batch, heads_kv] fp32, contiguous: factors of the logits and of the output of each KV head; 0:
  // none. Read if KV is e4m3.
  unsigned long long k_head_scales;
  unsigned long long v_head_scales;
  long long k_scales_stride;  // from a sequence to the next; 0: all sequences have the same scales
  long long v_scales_stride;
};

static_assert(sizeof(AttentionDecodeParameters) == 384 && alignof(AttentionDecodeParameters) == 8,
              "AttentionDecodeParameters changed its size");
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, q, 0);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, k, 8);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, v, 16);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, o, 24);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, lse, 32);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, partial_o, 40);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, partial_lse, 48);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, counters, 56);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, page_table, 64);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, kv_lengths, 72);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, q_offsets, 80);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, sinks, 88);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, mask, 96);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, softmax_scale_address, 104);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, output_scale_address, 112);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, q_batch_stride, 120);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, q_token_stride, 128);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, q_head_stride, 136);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, k_page_stride, 144);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, k_token_stride, 152);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, k_head_stride, 160);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, v_page_stride, 168);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, v_token_stride, 176);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, v_head_stride, 184);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, o_batch_stride, 192);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, o_token_stride, 200);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, o_head_stride, 208);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, page_table_stride, 216);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, batch, 224);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, q_len, 228);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, q_tiles, 232);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, heads_q, 236);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, partial_rows, 240);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, min_units, 244);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, split_is_unit, 248);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, window, 252);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, max_kv_length, 256);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, softmax_scale_log2, 260);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, output_scale, 264);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, soft_cap, 268);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, mask_words, 272);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, v_page_table_offset, 276);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, lengths_exclude_new, 280);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, reserved, 284);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, heads_kv, 288);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, group, 304);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, unit, 320);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, blocks, 336);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, k_head_scales, 352);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, v_head_scales, 360);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, k_scales_stride, 368);
CUBINET_ASSERT_OFFSET(AttentionDecodeParameters, v_scales_stride, 376);

}  // namespace cubinet::kernel_templates
