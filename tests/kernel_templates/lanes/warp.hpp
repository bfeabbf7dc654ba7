// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <ucontext.h>
#include <utility>
#include <vector>

namespace cubinet {

inline constexpr std::size_t kLanes = 32;

struct Index {
  unsigned x = 0;
};
inline Index threadIdx;  // the running thread
inline Index blockIdx;
inline Index gridDim{1};

// Runs functions on the lanes of warps. The lanes take turns on the calling thread: a lane runs
// until it exchanges a number with the others of its warp.
class Warp {
 public:
  // A warp of a CTA.
  struct Task {
    std::function<void()> of_lane;
    unsigned index;      // in the CTA
    double speed = 1.0;  // of several warps: the share of the turns that it gets
  };

  static void run(const std::function<void()>& of_lane, unsigned index = 0) {
    Warp warp({of_lane, index});
    while (!warp.take_turn()) {
    }
  }

  // Runs warps of a CTA together, which take random turns. A turn ends when the lanes of the warp
  // exchange numbers. Returns false if a warp has not ended after `most_turns`.
  static bool run_together(const std::vector<Task>& tasks, unsigned seed, std::size_t most_turns) {
    std::mt19937 dice(seed);
    std::vector<std::unique_ptr<Warp>> warps;
    std::vector<double> speeds;
    for (const Task& task : tasks) {
      warps.push_back(std::unique_ptr<Warp>(new Warp(task)));
      speeds.push_back(task.speed);
    }
    std::size_t running = warps.size();
    for (std::size_t turn = 0; turn < most_turns; ++turn) {
      std::discrete_distribution<std::size_t> warp(speeds.begin(), speeds.end());
      const std::size_t chosen = warp(dice);
      if (!warps[chosen]->take_turn()) continue;
      speeds[chosen] = 0.0;
      if (--running == 0) return true;
    }
    return false;
  }

  // Returns the running lane.
  static unsigned lane() { return threadIdx.x % kLanes; }

  // Returns the numbers of all lanes. Every lane must call the same functions in the same order.
  template <class Number>
  static std::array<Number, kLanes> exchange(Number own) {
    static_assert(sizeof(Number) <= kNumberBytes);
    Warp& warp = *running();
    // A lane may write its next number before the last lane has read the present ones.
    auto& numbers = warp.numbers_[warp.lanes_[lane()].turns++ % 2];
    std::memcpy(numbers[lane()].data(), &own, sizeof(own));
    swapcontext(&warp.lanes_[lane()].context, &warp.caller_);
    std::array<Number, kLanes> all;
    for (std::size_t i = 0; i < kLanes; ++i)
      std::memcpy(&all[i], numbers[i].data(), sizeof(Number));
    return all;
  }

 private:
  static constexpr std::size_t kStackBytes = 1 << 18;
  static constexpr std::size_t kNumberBytes = 8;

  struct Lane {
    ucontext_t context = {};
    std::vector<char> stack = std::vector<char>(kStackBytes);
    std::size_t turns = 0;
    bool ended = false;
  };

  explicit Warp(Task task) : task_(std::move(task)), lanes_(std::make_unique<Lane[]>(kLanes)) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      Lane& lane = lanes_[i];
      getcontext(&lane.context);
      lane.context.uc_stack.ss_sp = lane.stack.data();
      lane.context.uc_stack.ss_size = lane.stack.size();
      lane.context.uc_link = &caller_;
      makecontext(&lane.context, &Warp::enter, 0);
    }
  }

  // Runs each lane until it exchanges a number. Returns whether all have ended.
  bool take_turn() {
    running() = this;
    bool any = false;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (lanes_[lane].ended) continue;
      any = true;
      threadIdx.x = task_.index * kLanes + lane;
      swapcontext(&caller_, &lanes_[lane].context);
    }
    running() = nullptr;
    return !any;
  }

  static Warp*& running() {
    static Warp* warp = nullptr;
    return warp;
  }
  static void enter() {
    Warp& warp = *running();
    warp.task_.of_lane();
    warp.lanes_[lane()].ended = true;
  }

  Task task_;
  ucontext_t caller_ = {};
  std::array<std::array<std::array<char, kNumberBytes>, kLanes>, 2> numbers_ = {};
  std::unique_ptr<Lane[]> lanes_;
};

}  // namespace cubinet
