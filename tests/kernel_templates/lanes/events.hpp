// SPDX-License-Identifier: Apache-2.0
#pragma once
// Events that come some time after the instruction that starts them: the arrival of copies and of
// messages between CTAs.
#include <cstddef>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace cubinet {

class Events {
 public:
  static void add(std::function<void()> event) {
    (++added % 17 == 0 ? slow : fast).push_back(std::move(event));
  }
  static std::size_t count() { return fast.size() + slow.size(); }

  // Lets one event happen, whichever started first, or none. Some events come much later than
  // others.
  static void happen(std::mt19937& dice) {
    std::vector<std::function<void()>>& events = dice() % 32 == 0 ? slow : fast;
    if (events.empty()) return;
    std::swap(events[dice() % events.size()], events.back());
    const std::function<void()> event = std::move(events.back());
    events.pop_back();
    event();
  }
  static void clear() {
    fast.clear();
    slow.clear();
  }

 private:
  static inline std::vector<std::function<void()>> fast;
  static inline std::vector<std::function<void()>> slow;
  static inline unsigned added = 0;
};

}  // namespace cubinet
