// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensor maps of CTAs that copy boxes of a paged KV cache with TMA (sm_90a).
#include <cubinet/tensor_map.cuh>

namespace cubinet::paged {

struct alignas(kTensorMapBytes) TensorMap {
  unsigned char bytes[kTensorMapBytes];
};
// The tensor maps, one for each SM; no device has 512 SMs. It is a template, so kernels that use
// none contain none.
template <int kCount>
__device__ TensorMap tensor_maps[kCount];

// Returns the address of this CTA's tensor map. REQUIRES: each CTA has an SM to itself.
__device__ inline GlobalAddress own_tensor_map() {
  constexpr int kCount = 512;
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return static_cast<GlobalAddress>(__cvta_generic_to_global(&tensor_maps<kCount>[sm % kCount]));
}

}  // namespace cubinet::paged
