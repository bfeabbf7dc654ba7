// SPDX-License-Identifier: Apache-2.0
#pragma once
// Thread block clusters (sm_90 and up), whose blocks access each other's shared memory.
#include <cubinet/memory.cuh>

namespace cubinet {

// An address in the shared memory of a block of the cluster.
using ClusterAddress = unsigned;

// Returns the address in block `rank` of what has `address` in this block.
__device__ inline ClusterAddress address_in(SharedAddress address, int rank) {
  ClusterAddress other;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(address), "r"(rank));
  return other;
}

// Waits for all threads of all blocks. Makes only barriers visible that fence_mbarrier_init()
// follows, and no other writes.
__device__ inline void synchronize_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// Waits for all threads of all blocks, and for all of their accesses, also to other blocks' shared
// memory.
__device__ inline void finish_in_cluster() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Makes initialised barriers visible to the cluster. synchronize_cluster() follows.
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Announces that reads have ended. A release in the cluster's scope would be a fence of the GPU,
// which takes some thousand cycles.
__device__ inline void mbarrier_arrive_in_cluster(ClusterAddress barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Copies this block's shared memory to another block's, whose barrier counts the bytes. A bulk
// copy: ordinary writes to its source must precede a fence_async_proxy().
__device__ inline void bulk_copy_in_cluster(ClusterAddress target, SharedAddress source, unsigned bytes,
                                            ClusterAddress barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          target),
      "r"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

}  // namespace cubinet
