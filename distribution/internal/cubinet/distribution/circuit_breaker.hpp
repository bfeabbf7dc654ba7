// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <atomic>
#include <chrono>
#include <string>

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
  // Both about a question: `unavailable` at once while nobody asks the server of this name.
  template <class Question>
  auto ask(const std::string& name, Question&& question) -> decltype(question()) {
    if (!may_ask())
      return Error{ErrorCode::unavailable, name + " is passed over for a while, since it gave no answer",
                   "it is asked again by itself"};
    auto answer = question();
    note(answer);
    return answer;
  }

 private:
  std::chrono::milliseconds rest_;
  std::atomic<std::int64_t> asked_from_{0};  // of the steady clock; 0: it answered last
};

}  // namespace cubinet
