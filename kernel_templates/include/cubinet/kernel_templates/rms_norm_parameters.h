// SPDX-License-Identifier: Apache-2.0
#pragma once
// The by-value argument of the kernel of the template `rms_norm`. The host's compiler and NVRTC
// (which has no standard headers) both compile it, and the assertions check the layout on both
// sides. A change of any field is a new interface version of the template.
#include <cubinet/kernel_templates/parameter_layout.h>

namespace cubinet::kernel_templates {

// Addresses are device addresses (CUdeviceptr). Row strides count elements; rows are contiguous.
// All addresses and row strides are multiples of 16 bytes. y may be x.
struct RmsNormParameters {
  unsigned long long x;         // [rows, hidden_size]
  unsigned long long weight;    // [hidden_size]
  unsigned long long y;         // [rows, hidden_size]
  unsigned long long residual;  // [rows, hidden_size]; if residual_add, replaced by residual + x

  long long x_row_stride;
  long long y_row_stride;
  long long residual_row_stride;

  int rows;
  float epsilon;
};

static_assert(sizeof(RmsNormParameters) == 64 && alignof(RmsNormParameters) == 8,
              "RmsNormParameters changed its size");
CUBINET_ASSERT_OFFSET(RmsNormParameters, x, 0);
CUBINET_ASSERT_OFFSET(RmsNormParameters, weight, 8);
CUBINET_ASSERT_OFFSET(RmsNormParameters, y, 16);
CUBINET_ASSERT_OFFSET(RmsNormParameters, residual, 24);
CUBINET_ASSERT_OFFSET(RmsNormParameters, x_row_stride, 32);
CUBINET_ASSERT_OFFSET(RmsNormParameters, y_row_stride, 40);
CUBINET_ASSERT_OFFSET(RmsNormParameters, residual_row_stride, 48);
CUBINET_ASSERT_OFFSET(RmsNormParameters, rows, 56);
CUBINET_ASSERT_OFFSET(RmsNormParameters, epsilon, 60);

}  // namespace cubinet::kernel_templates
