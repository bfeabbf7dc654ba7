// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programmatic dependent launch. Both functions do nothing before sm_90, or in a kernel launched
// without the attribute, so a template may always call them.

namespace cubinet {

// Blocks until the kernels that this kernel depends on have ended and their writes are visible.
__device__ inline void wait_for_prerequisites() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Allows the next kernel of the stream to start when every CTA has called this or has ended.
__device__ inline void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace cubinet
