// SPDX-License-Identifier: Apache-2.0
#pragma once
// Thread blocks of a cluster (sm_90 and up): they reach each other's shared memory.
#include <cubinet/memory.cuh>

namespace cubinet {

// An address in the shared memory of a block of the cluster.
using ClusterAddress = unsigned;

// What has this block's address, in another block.
__device__ inline ClusterAddress address_in(SharedAddress address, int rank) {
  ClusterAddress other;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(address), "r"(rank));
  return other;
}

// By all threads of all blocks. Of what was written before, only barriers behind fence_mbarrier_init() are known to all
// behind it.
__device__ inline void synchronize_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// The same where what was done before, in others' shared memory too, is to have happened.
__device__ inline void finish_in_cluster() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Makes initialised barriers known to the cluster, before all of it comes together.
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Says that reads have ended. A release in the cluster's scope would be a fence of the GPU, some thousand cycles.
__device__ inline void mbarrier_arrive_in_cluster(ClusterAddress barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Copies this block's shared memory to another's, whose barrier counts the bytes that have come. Reads and writes as
// bulk copies do: behind fence_async_proxy().
__device__ inline void bulk_copy_in_cluster(ClusterAddress target, SharedAddress source, unsigned bytes,
                                            ClusterAddress barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(target),
      "r"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

}  // namespace cubinet
