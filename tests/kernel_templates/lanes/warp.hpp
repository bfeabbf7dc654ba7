// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "events.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <ucontext.h>
#include <utility>
#include <vector>

namespace cubinet {

inline constexpr std::size_t kLanes = 32;
inline constexpr unsigned kMostBlocks = 4;  // CTAs that run together

struct Index {
  unsigned x = 0;
};
inline Index threadIdx;  // the running thread
inline Index blockIdx;
inline Index gridDim{1};
inline Index blockDim;

// Runs functions on the lanes of warps. The lanes take turns on the calling thread: a lane runs
// until it exchanges a number with the others of its warp.
class Warp {
 public:
  // A warp of a CTA.
  struct Task {
    std::function<void()> of_lane;
    unsigned index;      // in the CTA
    double speed = 1.0;  // of several warps: the share of the turns that it gets
    unsigned block = 0;  // index of the CTA
    unsigned slot = 0;   // index of the CTA among those that run together
  };

  static void run(const std::function<void()>& of_lane, unsigned index = 0) {
    Warp warp({of_lane, index, 1.0, blockIdx.x, 0});
    while (!warp.is_ready() || !warp.take_turn()) {
    }
  }

  // Runs warps of one or several CTAs together, which take random turns. A turn ends when the lanes
  // of the warp exchange numbers. Before each turn, events happen. A warp pauses for some time with
  // probability `pauses` after each of its turns. Returns an empty string when all have ended, or
  // what each of the others waits for if they wait for each other.
  static std::string run_together(const std::vector<Task>& tasks, unsigned seed, double events_of_turn = 0.0,
                                  double pauses = 0.0) {
    constexpr int kMostIdleTurns = 200'000;
    constexpr unsigned kLongestPause = 20'000;
    std::mt19937 dice(seed);
    std::vector<std::unique_ptr<Warp>> warps;
    std::vector<double> speeds;
    for (const Task& task : tasks) {
      warps.push_back(std::unique_ptr<Warp>(new Warp(task)));
      speeds.push_back(task.speed);
    }
    std::discrete_distribution<std::size_t> any(speeds.begin(), speeds.end());
    std::size_t running = warps.size();
    double events = 0.0;
    std::vector<std::size_t> pause_ends(warps.size());
    std::size_t turn = 0;
    for (int idle = 0; idle < kMostIdleTurns; ++idle) {
      for (events += events_of_turn; events >= 1.0; events -= 1.0)
        Events::happen(dice);
      const std::size_t chosen = any(dice);
      Warp& warp = *warps[chosen];
      if (++turn < pause_ends[chosen] || !warp.is_ready()) continue;
      idle = 0;
      if (std::bernoulli_distribution(pauses)(dice)) pause_ends[chosen] = turn + dice() % kLongestPause;
      if (!warp.take_turn()) continue;
      speeds[chosen] = 0.0;
      if (--running == 0) return {};
      any = std::discrete_distribution<std::size_t>(speeds.begin(), speeds.end());
    }
    std::string waiting;
    for (std::size_t i = 0; i < warps.size(); ++i)
      if (speeds[i] != 0.0) waiting += warps[i]->description() + '\n';
    return waiting;
  }

  // Blocks the warp until `is_ready` returns true. All lanes must call it; the function of the
  // first lane is called. `name` and `number` are what the warp waits for.
  static void wait_until(std::function<bool()> is_ready, const char* name, unsigned number) {
    if (lane() == 0) {
      running()->is_ready_ = std::move(is_ready);
      running()->waits_for_ = name;
      running()->number_ = number;
    }
    exchange(0);
  }

  // Returns whether a warp takes its turn, and no event happens.
  static bool is_running() { return running() != nullptr; }

  // Returns a number of the running thread, less than kMostThreads, that no other thread has.
  static unsigned thread() { return slot() * 512 + threadIdx.x; }
  static constexpr unsigned kMostThreads = kMostBlocks * 512;

  // Returns the index of the running warp's CTA among those that run together.
  static unsigned slot() { return running() == nullptr ? 0 : running()->task_.slot; }

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
  static constexpr std::size_t kStackBytes = 1 << 16;
  static constexpr std::size_t kNumberBytes = 8;

  struct Lane {
    ucontext_t context = {};
    std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    std::size_t turns = 0;
    bool ended = false;
  };

  explicit Warp(Task task) : task_(std::move(task)), lanes_(std::make_unique<Lane[]>(kLanes)) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      Lane& lane = lanes_[i];
      getcontext(&lane.context);
      lane.context.uc_stack.ss_sp = lane.stack.get();
      lane.context.uc_stack.ss_size = kStackBytes;
      lane.context.uc_link = &caller_;
      makecontext(&lane.context, &Warp::enter, 0);
    }
  }

  bool is_ready() {
    if (is_ready_ == nullptr) return true;
    if (!is_ready_()) return false;
    is_ready_ = nullptr;
    return true;
  }
  std::string description() const {
    return "warp " + std::to_string(task_.index) + " of CTA " + std::to_string(task_.block) + " waits for " +
           waits_for_ + ' ' + std::to_string(number_);
  }

  // Runs each lane until it exchanges a number. Returns whether all have ended.
  bool take_turn() {
    running() = this;
    blockIdx.x = task_.block;
    bool any = false;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (lanes_[lane].ended) continue;
      any = true;
      threadIdx.x = task_.index * static_cast<unsigned>(kLanes) + lane;
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
  std::function<bool()> is_ready_;  // null: the warp does not wait
  std::string waits_for_ = "nothing";
  unsigned number_ = 0;
  ucontext_t caller_ = {};
  std::array<std::array<std::array<char, kNumberBytes>, kLanes>, 2> numbers_ = {};
  std::unique_ptr<Lane[]> lanes_;
};

}  // namespace cubinet
