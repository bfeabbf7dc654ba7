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
    Barrier& own = barriers_[barrier];
    if (own.missing == 0) ++surplus_;
    --own.missing;
    end_phase(own);
  }
  void on_announcement(SharedAddress barrier, unsigned bytes) override { barriers_[barrier].bytes += bytes; }
  // All lanes of a warp must wait together.
  void on_wait(SharedAddress barrier, unsigned parity) override {
    const auto has_ended = [this, barrier, parity] {
      while_waiting();
      return barriers_[barrier].phases % 2 != parity;
    };
    Warp::wait_until(has_ended, "the barrier at", barrier);
  }
  void on_bytes(SharedAddress barrier, unsigned bytes) override {
    barriers_[barrier].bytes -= bytes;
    end_phase(barriers_[barrier]);
  }

  // Returns the number of arrivals that a phase did not have room for.
  int surplus() const { return surplus_; }

 protected:
  // Called before each look at a barrier.
  virtual void while_waiting() {}

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
  int surplus_ = 0;
};

}  // namespace cubinet
