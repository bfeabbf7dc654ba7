// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <atomic>
#include <chrono>

namespace cubinet {

// Keeps those who want something of a server from waiting for one that gave no answer: they pass it over for
// `rest`, and then one of them asks it again before the others do. Thread-safe.
class CircuitBreaker {
 public:
  explicit CircuitBreaker(std::chrono::milliseconds rest = std::chrono::minutes(1)) : rest_(rest) {}

  // Nobody asks now.
  bool is_resting() const;
  // Whoever is told true asks, and notes what came of it.
  bool may_ask();
  template <class Value>
  void note(const Result<Value>& answer) {
    note(answer.has_value() || answer.error().code != ErrorCode::unavailable);
  }
  void note(bool answered);

 private:
  std::chrono::milliseconds rest_;
  std::atomic<std::int64_t> asked_from_{0};  // of the steady clock; 0: it answered last
};

}  // namespace cubinet
