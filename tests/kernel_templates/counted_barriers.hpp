// SPDX-License-Identifier: Apache-2.0
#pragma once
// Barriers in shared memory that behave like those of the device, for warps that run together.
#include "lanes/warp.hpp"

#include <cubinet/mbarrier.cuh>

#include <map>

namespace cubinet {

// Counts arrivals and bytes while it exists.
class CountedBarriers : public BarrierObserver {
 public:
  CountedBarriers() { barrier_observer = this; }
  CountedBarriers(const CountedBarriers&) = delete;
  CountedBarriers& operator=(const CountedBarriers&) = delete;
  ~CountedBarriers() override { barrier_observer = nullptr; }

  void on_init(SharedAddress barrier, unsigned arrivals) override {
    barriers_[barrier] = {arrivals, arrivals, 0, 0};
  }
  void on_arrival(SharedAddress barrier) override {
    --barriers_[barrier].missing;
    end_phase(barriers_[barrier]);
  }
  void on_announcement(SharedAddress barrier, unsigned bytes) override { barriers_[barrier].bytes += bytes; }
  // All lanes of a warp must wait together.
  void on_wait(SharedAddress barrier, unsigned parity) override {
    do {
      if (Warp::lane() == 0) while_waiting();
    } while (Warp::exchange(barriers_[barrier].phases % 2)[0] == parity);
  }

 protected:
  // Called before each look at a barrier.
  virtual void while_waiting() {}

  // Must be called for announced bytes that have arrived.
  void on_bytes(SharedAddress barrier, int bytes) {
    barriers_[barrier].bytes -= bytes;
    end_phase(barriers_[barrier]);
  }

 private:
  struct Barrier {
    unsigned arrivals;  // of a phase
    unsigned missing;
    long bytes;  // that are announced and have not arrived
    unsigned phases;
  };

  static void end_phase(Barrier& barrier) {
    if (barrier.missing != 0 || barrier.bytes != 0) return;
    barrier.missing = barrier.arrivals;
    ++barrier.phases;
  }

  std::map<SharedAddress, Barrier> barriers_;
};

}  // namespace cubinet
