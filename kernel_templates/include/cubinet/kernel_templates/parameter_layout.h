// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common parts of the argument structures of kernels. The host's compiler and NVRTC (which has no
// standard headers) both compile this file, so that the assertions hold for both layouts.

// Marks functions that both sides compile.
#ifdef __CUDACC__
#define CUBINET_BOTH_SIDES __host__ __device__
#else
#define CUBINET_BOTH_SIDES
#endif

// NVRTC has neither offsetof nor the builtin. The operator of its front end is equivalent.
#ifdef __CUDACC_RTC__
#define CUBINET_OFFSET_OF(type, member) __INTADDR__(&((type*)0)->member)
#else
#define CUBINET_OFFSET_OF(type, member) __builtin_offsetof(type, member)
#endif
#define CUBINET_ASSERT_OFFSET(type, member, offset)          \
  static_assert(CUBINET_OFFSET_OF(type, member) == (offset), \
                #type "::" #member " moved: host and device must agree")

static_assert(sizeof(unsigned long long) == 8 && sizeof(long long) == 8 && sizeof(int) == 4 &&
                  sizeof(float) == 4,
              "the parameter structs are laid out for 64-bit CUDA");
