// SPDX-License-Identifier: Apache-2.0
#pragma once
// The by-value argument of the kernel of the template `attention_append`. The host's compiler and
// NVRTC (which has no standard headers) both compile it, and the assertions check the layout on
// both sides. A change of any field is a new interface version of the template.
#include <cubinet/kernel_templates/fast_divisor.h>

namespace cubinet::kernel_templates {

// Addresses are device addresses (CUdeviceptr). Strides count elements; the innermost dimension is
// contiguous. Tensors of rows, their strides and cos_sin are multiples of 16 bytes.
struct AttentionAppendParameters {
  unsigned long long new_q;  // [batch, q_len, heads_q, k_columns]; if q_offsets: [tokens, heads_q, k_columns]
  unsigned long long new_k;  // [batch, q_len, heads_kv, k_columns], or [tokens, ...] as new_q
  unsigned long long new_v;  // [batch, q_len, heads_kv, v_columns], or [tokens, ...] as new_q
  unsigned long long q;      // same shape as new_q; may be new_q
  unsigned long long k;      // [pages, page size, heads_kv, k_columns] in any stride order
  unsigned long long v;      // [pages, page size, heads_kv, v_columns] in any stride order
  unsigned long long page_table;  // [batch, page_table_stride] int32: physical page of each logical page
  unsigned long long kv_lengths;  // [batch] int32: tokens of each sequence, see lengths_exclude_new
  unsigned long long q_offsets;   // [batch + 1] int32: first token of each sequence; 0: all have q_len
  unsigned long long positions;   // [tokens] int32: position for the rotation; 0: position in the sequence
  unsigned long long cos_sin;     // [table_positions, rope_dim] fp32: cosines, then sines
  unsigned long long q_scale_address;  // one fp32 that replaces q_scale; 0: none
  unsigned long long k_scale_address;
  unsigned long long v_scale_address;

  long long new_q_batch_stride;
  long long new_q_token_stride;
  long long new_q_head_stride;
  long long new_k_batch_stride;
  long long new_k_token_stride;
  long long new_k_head_stride;
  long long new_v_batch_stride;
  long long new_v_token_stride;
  long long new_v_head_stride;
  long long q_batch_stride;
  long long q_token_stride;
  long long q_head_stride;
  long long k_page_stride;
  long long k_token_stride;
  long long k_head_stride;
  long long v_page_stride;
  long long v_token_stride;
  long long v_head_stride;
  long long page_table_stride;
  long long v_table_offset;  // entries from a sequence's page of K to its page of V; 0: the same entries

  int q_len;            // if q_offsets: the maximum of a sequence
  int max_kv_length;    // tokens at this position and later are not written
  int page_shift;       // log2 of the tokens of a page
  int rope_dim;         // the first columns, which are rotated; a multiple of 16
  int table_positions;  // larger positions are clamped to the last one
  int heads_q;          // 0: Q is not changed
  int heads_kv;
  int k_columns;  // of a row; a multiple of 16
  int v_columns;
  float q_scale;  // e4m3 rows are divided by it before they are stored
  float k_scale;
  float v_scale;
  int lengths_exclude_new;  // -1: the lengths do not include the new tokens; else 0
  int reserved;             // 0

  FastDivisor row_threads;  // max(k_columns, v_columns) / 16

  // [batch, heads_kv] fp32, contiguous: e4m3 rows of a KV head are also divided by these. 0: none.
  unsigned long long k_head_scales;
  unsigned long long v_head_scales;
  long long k_scales_stride;  // from a sequence to the next; 0: all sequences have the same scales
  long long v_scales_stride;
};

static_assert(sizeof(AttentionAppendParameters) == 376 && alignof(AttentionAppendParameters) == 8,
              "AttentionAppendParameters changed its size");
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_q, 0);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_k, 8);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_v, 16);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, q, 24);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, k, 32);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, v, 40);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, page_table, 48);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, kv_lengths, 56);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, q_offsets, 64);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, positions, 72);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, cos_sin, 80);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, q_scale_address, 88);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, k_scale_address, 96);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, v_scale_address, 104);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_q_batch_stride, 112);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_q_token_stride, 120);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_q_head_stride, 128);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_k_batch_stride, 136);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_k_token_stride, 144);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_k_head_stride, 152);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_v_batch_stride, 160);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_v_token_stride, 168);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, new_v_head_stride, 176);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, q_batch_stride, 184);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, q_token_stride, 192);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, q_head_stride, 200);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, k_page_stride, 208);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, k_token_stride, 216);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, k_head_stride, 224);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, v_page_stride, 232);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, v_token_stride, 240);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, v_head_stride, 248);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, page_table_stride, 256);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, v_table_offset, 264);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, q_len, 272);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, max_kv_length, 276);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, page_shift, 280);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, rope_dim, 284);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, table_positions, 288);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, heads_q, 292);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, heads_kv, 296);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, k_columns, 300);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, v_columns, 304);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, q_scale, 308);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, k_scale, 312);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, v_scale, 316);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, lengths_exclude_new, 320);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, reserved, 324);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, row_threads, 328);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, k_head_scales, 344);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, v_head_scales, 352);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, k_scales_stride, 360);
CUBINET_ASSERT_OFFSET(AttentionAppendParameters, v_scales_stride, 368);

}  // namespace cubinet::kernel_templates
