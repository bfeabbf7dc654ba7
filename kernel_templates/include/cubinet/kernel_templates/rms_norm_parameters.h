// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one by-value argument of the kernel of the template `rms_norm`. Compiled by the host's compiler and
// by NVRTC (which has no standard headers); the assertions hold the layout on both sides. A change of any
// field is a new interface version of the template.

namespace cubinet::kernel_templates {

// Addresses are device addresses (CUdeviceptr). Row strides count elements; rows are contiguous. All
// addresses and row strides are multiples of 16 bytes. y may be x.
struct RmsNormParameters {
  unsigned long long x;         // [rows, hidden_size]
  unsigned long long weight;    // [hidden_size]
  unsigned long long y;         // [rows, hidden_size]
  unsigned long long residual;  // [rows, hidden_size]; read and rewritten as residual + x if residual_add

  long long x_row_stride;
  long long y_row_stride;
  long long residual_row_stride;

  int rows;
  float epsilon;
};

// NVRTC knows neither offsetof nor the builtin; its front end's own operator does the same.
#ifdef __CUDACC_RTC__
#define CUBINET_OFFSET_OF(type, member) __INTADDR__(&((type*)0)->member)
#else
#define CUBINET_OFFSET_OF(type, member) __builtin_offsetof(type, member)
#endif
#define CUBINET_ASSERT_OFFSET(member, offset)                             \
  static_assert(CUBINET_OFFSET_OF(RmsNormParameters, member) == (offset), \
                "RmsNormParameters::" #member " moved: host and device must agree")
static_assert(sizeof(unsigned long long) == 8 && sizeof(long long) == 8 && sizeof(int) == 4 &&
                  sizeof(float) == 4,
              "the parameter structs are laid out for 64-bit CUDA");
static_assert(sizeof(RmsNormParameters) == 64 && alignof(RmsNormParameters) == 8,
              "RmsNormParameters changed its size");
CUBINET_ASSERT_OFFSET(x, 0);
CUBINET_ASSERT_OFFSET(weight, 8);
CUBINET_ASSERT_OFFSET(y, 16);
CUBINET_ASSERT_OFFSET(residual, 24);
CUBINET_ASSERT_OFFSET(x_row_stride, 32);
CUBINET_ASSERT_OFFSET(y_row_stride, 40);
CUBINET_ASSERT_OFFSET(residual_row_stride, 48);
CUBINET_ASSERT_OFFSET(rows, 56);
CUBINET_ASSERT_OFFSET(epsilon, 60);
#undef CUBINET_ASSERT_OFFSET
#undef CUBINET_OFFSET_OF

}  // namespace cubinet::kernel_templates
