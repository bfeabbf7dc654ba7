// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programmatic dependent launch. Both calls do nothing before sm_90, and nothing in a kernel that was not
// launched with the attribute, so a template may call them always.

namespace cubinet {

// Returns once the kernels this one depends on have finished and their writes can be seen.
__device__ inline void wait_for_prerequisites() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel of the stream start as soon as every thread block has said so or has ended.
__device__ inline void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace cubinet
