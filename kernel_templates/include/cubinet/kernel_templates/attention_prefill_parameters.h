// SPDX-License-Identifier: Apache-2.0
#pragma once
// The by-value argument of the kernels of prefill attention. The host's compiler and NVRTC (which
// has no standard headers) both compile it, and the assertions check the layout on both sides. A
// change of any field is a new interface version of the templates.
#include <cubinet/kernel_templates/fast_divisor.h>

namespace cubinet::kernel_templates {

// Addresses are device addresses (CUdeviceptr). Strides count elements; the innermost dimension is
// contiguous. q, k, v, o, all their strides and partial_o are multiples of 16 bytes. Strides of
// e4m3 rows of 72 and 88 columns are multiples of 8.
//
// Query token i of a sequence with q_len query tokens has the position kv_len - q_len + i. It is
// negative if kv_len is below q_len.
struct AttentionPrefillParameters {
  // [batch, q_len, heads_q, head_dim_qk]. If q_offsets: [tokens, heads_q, head_dim_qk]; O and LSE
  // then begin with [tokens, heads_q] too.
  unsigned long long q;
  // Paged: [pages, page_size, heads_kv, head_dim_qk] in any stride order. Contiguous: [batch,
  // tokens, heads_kv, head_dim_qk], or if kv_offsets: [tokens, heads_kv, head_dim_qk].
  unsigned long long k;
  unsigned long long v;    // like k, with head_dim_v columns
  unsigned long long o;    // [batch, q_len, heads_q, head_dim_v]
  unsigned long long lse;  // [batch, q_len, heads_q] fp32, natural logarithm; 0: not written
  // Partial results of tiles whose KV is split: [splits, tokens, heads_q, head_dim_v] fp32, and
  // their log-sum-exps without the last dimension, base 2. 0: KV is not split.
  unsigned long long partial_o;
  unsigned long long partial_lse;
  // [2] int32: the next tile, and the CTAs that have ended. Zero before and after every run.
  unsigned long long counters;
  unsigned long long page_table;  // [batch, page_table_stride] int32: physical page of each logical page
  unsigned long long kv_lengths;  // [batch] int32: tokens of each sequence, see lengths_exclude_new
  unsigned long long q_offsets;   // [batch + 1] int32: first token of each sequence; 0: all have q_len
  unsigned long long kv_offsets;  // [batch + 1] int32: the same in K and V; 0: k_outer_stride
  unsigned long long sinks;       // [heads_q] fp32, natural logits without V; 0: none
  unsigned long long softmax_scale_address;  // one fp32 that replaces softmax_scale_log2; 0: none
  unsigned long long output_scale_address;   // one fp32 that replaces output_scale; 0: none

  long long q_batch_stride;
  long long q_token_stride;
  long long q_head_stride;
  long long k_outer_stride;  // from a page to the next or, of contiguous KV, from a sequence to the next
  long long k_token_stride;
  long long k_head_stride;
  long long v_outer_stride;
  long long v_token_stride;
  long long v_head_stride;
  long long o_batch_stride;
  long long o_token_stride;
  long long o_head_stride;
  long long page_table_stride;

  int batch;
  int q_len;                 // if q_offsets: the maximum of a sequence
  int max_kv_length;         // longer lengths are clamped to it, the size of the page table
  int window;                // newest tokens that a query sees, including itself; read if sliding_window
  float softmax_scale_log2;  // softmax scale times log2(e), > 0
  float output_scale;
  float soft_cap;           // > 0; read if soft_cap
  int v_page_table_offset;  // from a sequence's K entries to its V entries; read if separate_page_tables
  int lengths_exclude_new;  // -1: a sequence has as many more tokens as it has query tokens; else 0
  int box_tokens;           // tokens of a box of the tensor maps of K and V; 0: no maps
  int split_tokens;         // KV tokens of a split, a multiple of the tile; 0: KV is not split
  int splits;               // the most splits of a sequence

  FastDivisor heads_q;  // heads_kv * group
  FastDivisor heads_kv;
  FastDivisor group;      // query heads of one KV head
  FastDivisor page_size;  // tokens of a page, a multiple of 8; paged KV
  // Query heads of one KV head that share a Q tile: 1, or as many as a group has.
  FastDivisor tile_heads;

  // [batch, heads_kv] fp32, contiguous: factors of the logits and of the output of each KV head; 0:
  // none. Read if KV is e4m3.
  unsigned long long k_head_scales;
  unsigned long long v_head_scales;
  long long k_scales_stride;  // from a sequence to the next; 0: all sequences have the same scales
  long long v_scales_stride;
};

static_assert(sizeof(AttentionPrefillParameters) == 384 && alignof(AttentionPrefillParameters) == 8,
              "AttentionPrefillParameters changed its size");
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, q, 0);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, k, 8);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, v, 16);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, o, 24);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, lse, 32);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, partial_o, 40);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, partial_lse, 48);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, counters, 56);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, page_table, 64);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, kv_lengths, 72);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, q_offsets, 80);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, kv_offsets, 88);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, sinks, 96);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, softmax_scale_address, 104);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, output_scale_address, 112);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, q_batch_stride, 120);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, q_token_stride, 128);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, q_head_stride, 136);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, k_outer_stride, 144);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, k_token_stride, 152);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, k_head_stride, 160);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, v_outer_stride, 168);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, v_token_stride, 176);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, v_head_stride, 184);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, o_batch_stride, 192);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, o_token_stride, 200);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, o_head_stride, 208);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, page_table_stride, 216);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, batch, 224);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, q_len, 228);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, max_kv_length, 232);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, window, 236);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, softmax_scale_log2, 240);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, output_scale, 244);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, soft_cap, 248);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, v_page_table_offset, 252);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, lengths_exclude_new, 256);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, box_tokens, 260);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, split_tokens, 264);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, splits, 268);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, heads_q, 272);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, heads_kv, 288);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, group, 304);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, page_size, 320);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, tile_heads, 336);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, k_head_scales, 352);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, v_head_scales, 360);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, k_scales_stride, 368);
CUBINET_ASSERT_OFFSET(AttentionPrefillParameters, v_scales_stride, 376);

// A tensor map as the driver encodes it (CUtensorMap).
struct alignas(64) PrefillTensorMap {
  unsigned char bytes[128];
};

// The argument of kernels that copy boxes with TMA. The host encodes the maps for each run.
struct AttentionPrefillMapParameters {
  AttentionPrefillParameters p;
  PrefillTensorMap q;
  PrefillTensorMap k;
  PrefillTensorMap v;
};
static_assert(sizeof(AttentionPrefillMapParameters) == 768 && alignof(AttentionPrefillMapParameters) == 64,
              "AttentionPrefillMapParameters changed its size");
CUBINET_ASSERT_OFFSET(AttentionPrefillMapParameters, q, 384);
CUBINET_ASSERT_OFFSET(AttentionPrefillMapParameters, k, 512);
CUBINET_ASSERT_OFFSET(AttentionPrefillMapParameters, v, 640);

}  // namespace cubinet::kernel_templates
