// SPDX-License-Identifier: Apache-2.0
#pragma once
// The by-value argument of the kernel of the template `attention_merge`. The host's compiler and
// NVRTC (which has no standard headers) both compile it, and the assertions check the layout on
// both sides. A change of any field is a new interface version of the template.
#include <cubinet/kernel_templates/fast_divisor.h>

namespace cubinet::kernel_templates {

// A partial result: O and the log-sum-exp of rows. Addresses are device addresses (CUdeviceptr).
// Strides count elements.
struct AttentionMergePart {
  unsigned long long o;    // [tokens, heads, head_dim]
  unsigned long long lse;  // [tokens, heads] fp32, natural logarithm; -infinity for a row without KV
  long long token_stride;
  long long head_stride;
};

struct AttentionMergeParameters {
  AttentionMergePart first;
  AttentionMergePart second;
  AttentionMergePart merged;  // may be first or second; lse 0: not written
  FastDivisor heads;
  int rows;            // tokens times heads; below 2^31 >> lanes_log2
  int row_vectors;     // head_dim / 8
  int lanes_log2;      // 1 << lanes_log2 lanes share a row; at most a warp
  float output_scale;  // of the merged output
};

static_assert(sizeof(AttentionMergePart) == 32 && alignof(AttentionMergePart) == 8,
              "AttentionMergePart changed its size");
static_assert(sizeof(AttentionMergeParameters) == 128 && alignof(AttentionMergeParameters) == 8,
              "AttentionMergeParameters changed its size");
CUBINET_ASSERT_OFFSET(AttentionMergePart, o, 0);
CUBINET_ASSERT_OFFSET(AttentionMergePart, lse, 8);
CUBINET_ASSERT_OFFSET(AttentionMergePart, token_stride, 16);
CUBINET_ASSERT_OFFSET(AttentionMergePart, head_stride, 24);
CUBINET_ASSERT_OFFSET(AttentionMergeParameters, first, 0);
CUBINET_ASSERT_OFFSET(AttentionMergeParameters, second, 32);
CUBINET_ASSERT_OFFSET(AttentionMergeParameters, merged, 64);
CUBINET_ASSERT_OFFSET(AttentionMergeParameters, heads, 96);
CUBINET_ASSERT_OFFSET(AttentionMergeParameters, rows, 112);
CUBINET_ASSERT_OFFSET(AttentionMergeParameters, row_vectors, 116);
CUBINET_ASSERT_OFFSET(AttentionMergeParameters, lanes_log2, 120);
CUBINET_ASSERT_OFFSET(AttentionMergeParameters, output_scale, 124);

}  // namespace cubinet::kernel_templates
