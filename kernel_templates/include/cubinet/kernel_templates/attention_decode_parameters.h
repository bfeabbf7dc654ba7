// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one by-value argument of both kernels of the template `attention_decode`. Compiled by the host's
// compiler and by NVRTC (which has no standard headers); the assertions hold the layout on both sides.
// A change of any field is a new interface version of the template.

namespace cubinet::kernel_templates {

// Addresses are device addresses (CUdeviceptr). Strides count elements; the innermost dimension is
// contiguous. q, k, v, o and every stride of theirs are multiples of 16 bytes.
struct AttentionDecodeParameters {
  unsigned long long q;    // [batch, q_len, heads_q, head_dim_qk]
  unsigned long long k;    // [pages, page_size, heads_kv, head_dim_qk] in any stride order
  unsigned long long v;    // [pages, page_size, heads_kv, head_dim_v] in any stride order
  unsigned long long o;    // [batch, q_len, heads_q, head_dim_v]
  unsigned long long lse;  // [batch, q_len, heads_q] fp32, natural logarithm; 0: not wanted
  unsigned long long
      partial_o;  // [batch, q_len, heads_q, num_splits, head_dim_v] fp32; unused if num_splits is 1
  unsigned long long
      partial_lse;  // [batch, q_len, heads_q, num_splits] fp32, base 2; unused if num_splits is 1
  unsigned long long page_table;  // [batch, page_table_stride] int32: physical page of each logical page
  unsigned long long kv_lengths;  // [batch] int32: tokens of each sequence, 0 allowed

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

  int q_len;
  int heads_q;  // a multiple of heads_kv
  int heads_kv;
  int num_splits;  // most KV splits of a sequence; gridDim.x of the main kernel is this times the Q tiles
  int min_tokens_per_split;  // multiple of tile_size_kv; a short sequence uses fewer splits
  int window;                // newest tokens a query sees, itself included; read if sliding_window
  int max_kv_length;         // lengths beyond it are cut to it: the page table holds no more
  float softmax_scale_log2;  // softmax scale times log2(e), > 0
};

// NVRTC knows neither offsetof nor the builtin; its front end's own operator does the same.
#ifdef __CUDACC_RTC__
#define CUBINET_OFFSET_OF(type, member) __INTADDR__(&((type*)0)->member)
#else
#define CUBINET_OFFSET_OF(type, member) __builtin_offsetof(type, member)
#endif
#define CUBINET_ASSERT_OFFSET(member, offset)                                     \
  static_assert(CUBINET_OFFSET_OF(AttentionDecodeParameters, member) == (offset), \
                "AttentionDecodeParameters::" #member " moved: host and device must agree")
static_assert(sizeof(unsigned long long) == 8 && sizeof(long long) == 8 && sizeof(int) == 4 &&
                  sizeof(float) == 4,
              "the parameter structs are laid out for 64-bit CUDA");
static_assert(sizeof(AttentionDecodeParameters) == 208 && alignof(AttentionDecodeParameters) == 8,
              "AttentionDecodeParameters changed its size");
CUBINET_ASSERT_OFFSET(q, 0);
CUBINET_ASSERT_OFFSET(k, 8);
CUBINET_ASSERT_OFFSET(v, 16);
CUBINET_ASSERT_OFFSET(o, 24);
CUBINET_ASSERT_OFFSET(lse, 32);
CUBINET_ASSERT_OFFSET(partial_o, 40);
CUBINET_ASSERT_OFFSET(partial_lse, 48);
CUBINET_ASSERT_OFFSET(page_table, 56);
CUBINET_ASSERT_OFFSET(kv_lengths, 64);
CUBINET_ASSERT_OFFSET(q_batch_stride, 72);
CUBINET_ASSERT_OFFSET(q_token_stride, 80);
CUBINET_ASSERT_OFFSET(q_head_stride, 88);
CUBINET_ASSERT_OFFSET(k_page_stride, 96);
CUBINET_ASSERT_OFFSET(k_token_stride, 104);
CUBINET_ASSERT_OFFSET(k_head_stride, 112);
CUBINET_ASSERT_OFFSET(v_page_stride, 120);
CUBINET_ASSERT_OFFSET(v_token_stride, 128);
CUBINET_ASSERT_OFFSET(v_head_stride, 136);
CUBINET_ASSERT_OFFSET(o_batch_stride, 144);
CUBINET_ASSERT_OFFSET(o_token_stride, 152);
CUBINET_ASSERT_OFFSET(o_head_stride, 160);
CUBINET_ASSERT_OFFSET(page_table_stride, 168);
CUBINET_ASSERT_OFFSET(q_len, 176);
CUBINET_ASSERT_OFFSET(heads_q, 180);
CUBINET_ASSERT_OFFSET(heads_kv, 184);
CUBINET_ASSERT_OFFSET(num_splits, 188);
CUBINET_ASSERT_OFFSET(min_tokens_per_split, 192);
CUBINET_ASSERT_OFFSET(window, 196);
CUBINET_ASSERT_OFFSET(max_kv_length, 200);
CUBINET_ASSERT_OFFSET(softmax_scale_log2, 204);
#undef CUBINET_ASSERT_OFFSET
#undef CUBINET_OFFSET_OF

}  // namespace cubinet::kernel_templates
