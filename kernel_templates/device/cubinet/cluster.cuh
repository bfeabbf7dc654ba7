// SPDX-License-Identifier: Apache-2.0
#pragma once
// Thread block clusters (sm_90 and later), whose CTAs access each other's shared memory.
#include <cubinet/memory.cuh>

namespace cubinet {

// An address in the shared memory of a CTA of the cluster.
using ClusterAddress = unsigned;

// Returns the address in CTA `rank` of the object at `address` in this CTA.
__device__ inline ClusterAddress address_in(SharedAddress address, int rank) {
  ClusterAddress other;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(address), "r"(rank));
  return other;
}

// Blocks until all threads of all CTAs of the cluster have called it. All threads must call it.
// Makes only mbarriers visible, after fence_mbarrier_init(); it makes no other write visible.
__device__ inline void synchronize_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// Blocks until all threads of all CTAs of the cluster have called it and all their memory accesses
// are complete, including those to the shared memory of other CTAs. All threads must call it.
__device__ inline void finish_in_cluster() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Makes initialised mbarriers visible to the cluster. The caller must call synchronize_cluster()
// after it.
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives at an mbarrier of any CTA of the cluster, to announce that reads have ended. It is not a
// release in the scope of the cluster: that would be a fence of the GPU, which takes some thousand
// cycles.
__device__ inline void mbarrier_arrive_in_cluster(ClusterAddress barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Stores a word to a CTA of the cluster, whose mbarrier counts its four bytes.
__device__ inline void store_in_cluster(ClusterAddress target, int word, ClusterAddress barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(target),
               "r"(word), "r"(barrier)
               : "memory");
}

// Copies shared memory of this CTA to another CTA, whose mbarrier counts the bytes. It is a bulk
// copy: fence_async_proxy() must follow ordinary writes to the source before this call.
__device__ inline void bulk_copy_in_cluster(ClusterAddress target, SharedAddress source, unsigned bytes,
                                            ClusterAddress barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          target),
      "r"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

}  // namespace cubinet
