// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scales that K and V of e4m3 may have for each KV head.
//
// Parameters: those of attention kernels and of the append
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>

namespace cubinet::attention {

// Returns an element of k_head_scales or v_head_scales, or 1 if `scales` is 0. The indices are kept
// so that the address is computed here. The compiler would otherwise compute it before loops that
// have no registers for it.
__device__ inline float head_scale(GlobalAddress scales, long long stride, int sequence, int head_kv) {
  unsigned row = static_cast<unsigned>(sequence);
  unsigned column = static_cast<unsigned>(head_kv);
  keep_in_register(row);
  keep_in_register(column);
  return load_global_float_if(scales != 0, scales + 4 * (row * stride + column), 1.0f);
}

// Return the scales of K and of V of one KV head of one sequence.
template <bool kHasHeadScales, class Parameters>
__device__ inline float k_scale(const Parameters& p, int sequence, int head_kv) {
  return kHasHeadScales ? head_scale(p.k_head_scales, p.k_scales_stride, sequence, head_kv) : 1.0f;
}
template <bool kHasHeadScales, class Parameters>
__device__ inline float v_scale(const Parameters& p, int sequence, int head_kv) {
  return kHasHeadScales ? head_scale(p.v_head_scales, p.v_scales_stride, sequence, head_kv) : 1.0f;
}

}  // namespace cubinet::attention
