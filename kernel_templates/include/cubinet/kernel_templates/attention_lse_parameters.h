// SPDX-License-Identifier: Apache-2.0
#pragma once
// The by-value argument of the kernel of the template `attention_lse`. The host's compiler and
// NVRTC (which has no standard headers) both compile it, and the assertions check the layout on
// both sides. A change of any field is a new interface version of the template.
#include <cubinet/kernel_templates/parameter_layout.h>

namespace cubinet::kernel_templates {

// Addresses are device addresses (CUdeviceptr).
struct AttentionLseParameters {
  // [rows] pairs of fp32, multiple of 16 bytes: the largest scaled logit and the sum of the
  // probabilities.
  unsigned long long softmax_stats;
  unsigned long long lse;  // [rows] fp32, natural logarithm; -infinity if the sum is 0
  long long rows;          // tokens times heads
};

static_assert(sizeof(AttentionLseParameters) == 24 && alignof(AttentionLseParameters) == 8,
              "AttentionLseParameters changed its size");
CUBINET_ASSERT_OFFSET(AttentionLseParameters, softmax_stats, 0);
CUBINET_ASSERT_OFFSET(AttentionLseParameters, lse, 8);
CUBINET_ASSERT_OFFSET(AttentionLseParameters, rows, 16);

}  // namespace cubinet::kernel_templates
