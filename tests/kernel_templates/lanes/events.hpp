// SPDX-License-Identifier: Apache-2.0
#pragma once
// What happens some time after the instruction that started it: the arrival of copies and of
// messages between CTAs.
#include <cstddef>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace cubinet {

class Events {
 public:
  static void add(std::function<void()> event) { events.push_back(std::move(event)); }
  static std::size_t count() { return events.size(); }

  // Lets one event happen, whichever started first.
  static void happen(std::mt19937& dice) {
    if (events.empty()) return;
    std::swap(events[dice() % events.size()], events.back());
    const std::function<void()> event = std::move(events.back());
    events.pop_back();
    event();
  }
  static void clear() { events.clear(); }

 private:
  static inline std::vector<std::function<void()>> events;
};

}  // namespace cubinet
