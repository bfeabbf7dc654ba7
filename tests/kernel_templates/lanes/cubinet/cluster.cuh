// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: clusters of two CTAs, whose slots are adjacent
// (warp.hpp). Messages to the other CTA arrive at random times.
#include "named_barriers.hpp"

#include <cubinet/mbarrier.cuh>
#include <cubinet/memory.cuh>

namespace cubinet {

using ClusterAddress = unsigned;

// The slot of the first CTA of the running warp's cluster.
inline unsigned slot_of_cluster() {
  return Warp::slot() - blockIdx.x % 2;
}

inline ClusterAddress address_in(SharedAddress address, int rank) {
  return address % kMostSharedBytes + (slot_of_cluster() + static_cast<unsigned>(rank)) * kMostSharedBytes;
}

inline unsigned messages_to_others = 0;  // that have not arrived

inline void synchronize_cluster() {
  NamedBarriers::synchronize(slot_of_cluster(), NamedBarriers::kOfCluster, 2 * blockDim.x);
}
inline void finish_in_cluster() {
  synchronize_cluster();
  Warp::wait_until([] { return messages_to_others == 0; }, "messages, of which there are",
                   messages_to_others);
}
inline void fence_mbarrier_init() {}

inline void mbarrier_arrive_in_cluster(ClusterAddress barrier) {
  if (barrier / kMostSharedBytes == Warp::slot()) return mbarrier_arrive(barrier);
  barrier_observer->on_message(barrier);
  ++messages_to_others;
  Events::add([barrier] {
    --messages_to_others;
    barrier_observer->on_arrival(barrier);
  });
}

inline void store_in_cluster(ClusterAddress target, int word, ClusterAddress barrier) {
  Events::add([=] {
    store_shared(target, word);
    barrier_observer->on_bytes(barrier, sizeof(word));
  });
}

inline void bulk_copy_in_cluster(ClusterAddress target, SharedAddress source, unsigned bytes,
                                 ClusterAddress barrier) {
  Events::add([=] {
    std::memcpy(&shared_memory.at(target), &shared_memory.at(source), bytes);
    barrier_observer->on_bytes(barrier, bytes);
  });
}

}  // namespace cubinet
