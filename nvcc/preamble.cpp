// SPDX-License-Identifier: Apache-2.0
#include "preamble.hpp"

namespace cubinet::nvcc {
namespace {

// The functions are templates, so that a header of the toolkit may define them, too: a call prefers
// the function that is no template. Headers of CCCL define INFINITY and NAN again, which would be
// warning 47.
constexpr std::string_view kPreamble = R"(#pragma once
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
#define offsetof(type, member) ((size_t)__INTADDR__(&(((type*)0)->member)))
#pragma nv_diag_suppress 47
#define INFINITY (__builtin_bit_cast(float, 0x7f800000))
#define NAN (__builtin_bit_cast(float, 0x7fffffff))
template <class = void>
static __device__ __forceinline__ void cudaTriggerProgrammaticLaunchCompletion() {
  asm volatile("griddepcontrol.launch_dependents;" :::);
}
template <class = void>
static __device__ __forceinline__ void cudaGridDependencySynchronize() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
)";

}  // namespace

std::string_view preamble() {
  return kPreamble;
}

}  // namespace cubinet::nvcc
