// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: tests call what a barrier separates one after the other,
// provide it when a lane waits for it, or count the arrivals.
#include <cubinet/async_copy.cuh>
#include <cubinet/memory.cuh>

namespace cubinet {

// The test's view of the barriers.
class BarrierObserver {
 public:
  virtual ~BarrierObserver() = default;
  virtual void on_wait(SharedAddress barrier, unsigned parity) = 0;
  virtual void on_arrival(SharedAddress barrier) = 0;
  // An arrival at a barrier of another CTA has started.
  virtual void on_message(SharedAddress /*barrier*/) {}
  virtual void on_init(SharedAddress /*barrier*/, unsigned /*arrivals*/) {}
  // Comes before the arrival that announces the bytes.
  virtual void on_announcement(SharedAddress /*barrier*/, unsigned /*bytes*/) {}
  // Announced bytes have arrived.
  virtual void on_bytes(SharedAddress /*barrier*/, unsigned /*bytes*/) {}
};
inline BarrierObserver* barrier_observer = nullptr;

inline void mbarrier_init(SharedAddress barrier, unsigned arrivals) {
  if (barrier_observer != nullptr) barrier_observer->on_init(barrier, arrivals);
}
inline void mbarrier_arrive(SharedAddress barrier) {
  if (barrier_observer != nullptr) barrier_observer->on_arrival(barrier);
}
inline void mbarrier_arrive_expect_bytes(SharedAddress barrier, unsigned bytes) {
  if (barrier_observer == nullptr) return;
  barrier_observer->on_announcement(barrier, bytes);
  barrier_observer->on_arrival(barrier);
}
inline void mbarrier_arrive_with_copies(SharedAddress barrier) {
  const unsigned thread = Warp::thread();
  Events::add([barrier, thread, copies = AsyncCopies::started(thread)] {
    AsyncCopies::complete(thread, copies);
    barrier_observer->on_arrival(barrier);
  });
}
inline void mbarrier_wait(SharedAddress barrier, unsigned parity) {
  if (barrier_observer != nullptr) barrier_observer->on_wait(barrier, parity);
}
inline void fence_async_proxy() {}

}  // namespace cubinet
