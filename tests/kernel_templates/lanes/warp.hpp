// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace cubinet {

inline constexpr std::size_t kLanes = 32;

struct Index {
  unsigned x = 0;
};
inline Index threadIdx;  // the running thread
inline Index gridDim{1};

// Runs a function on the lanes of a warp. The lanes take turns on the calling thread: a lane runs
// until it exchanges a number with the others.
class Warp {
 public:
  // `index` is the index of the warp in its CTA.
  static void run(const std::function<void()>& of_lane, unsigned index = 0) {
    Warp warp(of_lane);
    running() = &warp;
    bool any = true;
    while (any) {
      any = false;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (warp.lanes_[lane].ended) continue;
        any = true;
        threadIdx.x = index * kLanes + lane;
        swapcontext(&warp.caller_, &warp.lanes_[lane].context);
      }
    }
    running() = nullptr;
  }

  // Returns the running lane.
  static unsigned lane() { return threadIdx.x % kLanes; }

  // Returns the numbers of all lanes. Every lane must call the same functions in the same order.
  template <class Number>
  static std::array<Number, kLanes> exchange(Number own) {
    // A lane may write its next number before the last lane has read the present ones.
    static std::array<std::array<Number, kLanes>, 2> numbers;
    Warp& warp = *running();
    const std::size_t turn = warp.lanes_[lane()].turns++ % 2;
    numbers[turn][lane()] = own;
    swapcontext(&warp.lanes_[lane()].context, &warp.caller_);
    return numbers[turn];
  }

 private:
  static constexpr std::size_t kStackBytes = 1 << 18;

  struct Lane {
    ucontext_t context = {};
    std::vector<char> stack = std::vector<char>(kStackBytes);
    std::size_t turns = 0;
    bool ended = false;
  };

  explicit Warp(const std::function<void()>& of_lane)
      : of_lane_(of_lane), lanes_(std::make_unique<Lane[]>(kLanes)) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      Lane& lane = lanes_[i];
      getcontext(&lane.context);
      lane.context.uc_stack.ss_sp = lane.stack.data();
      lane.context.uc_stack.ss_size = lane.stack.size();
      lane.context.uc_link = &caller_;
      makecontext(&lane.context, &Warp::enter, 0);
    }
  }

  static Warp*& running() {
    static Warp* warp = nullptr;
    return warp;
  }
  static void enter() {
    Warp& warp = *running();
    warp.of_lane_();
    warp.lanes_[lane()].ended = true;
  }

  const std::function<void()>& of_lane_;
  ucontext_t caller_ = {};
  std::unique_ptr<Lane[]> lanes_;
};

}  // namespace cubinet
