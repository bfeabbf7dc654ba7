// SPDX-License-Identifier: Apache-2.0
#pragma once
// The by-value argument of the kernel of the template `attention_reference`. The host's compiler
// and NVRTC (which has no standard headers) both compile it, and the assertions check the layout on
// both sides. A change of any field is a new interface version of the template.
#include <cubinet/kernel_templates/attention_prefill_parameters.h>

namespace cubinet::kernel_templates {

// The tensors are those of prefill attention, except for O and LSE: [tokens, heads_q, head_dim_v]
// and [tokens, heads_q], fp64, contiguous. Of the scales, window and
// soft cap of `tensors`, only the scales of KV heads are read.
struct AttentionReferenceParameters {
  AttentionPrefillParameters tensors;
  double softmax_scale;
  double output_scale;
  double soft_cap;  // 0: none
  int window;       // newest tokens that a query sees, including itself
  int causal;       // 0 or 1
};

static_assert(sizeof(AttentionReferenceParameters) == 416 && alignof(AttentionReferenceParameters) == 8,
              "AttentionReferenceParameters changed its size");
CUBINET_ASSERT_OFFSET(AttentionReferenceParameters, softmax_scale, 384);
CUBINET_ASSERT_OFFSET(AttentionReferenceParameters, output_scale, 392);
CUBINET_ASSERT_OFFSET(AttentionReferenceParameters, soft_cap, 400);
CUBINET_ASSERT_OFFSET(AttentionReferenceParameters, window, 408);
CUBINET_ASSERT_OFFSET(AttentionReferenceParameters, causal, 412);

}  // namespace cubinet::kernel_templates
