// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <atomic>
#include <chrono>
#include <string>

namespace cubinet {

// Skips a server that gave no answer for `rest`, so that callers do not wait for it. Then one
// caller tries it again before the others do. Thread-safe.
class CircuitBreaker {
 public:
  explicit CircuitBreaker(std::chrono::milliseconds rest = std::chrono::minutes(1)) : rest_(rest) {}

  // Returns whether the server is skipped now.
  bool is_resting() const;
  // Returns whether the caller may send a request. If true, the caller must note its outcome.
  bool may_ask();
  template <class Value>
  void note(const Result<Value>& answer) {
    note(answer.has_value() || answer.error().code != ErrorCode::unavailable);
  }
  void note(bool answered);
  // Sends a request and notes its outcome. Returns unavailable at once if the server of this name
  // is skipped.
  template <class Question>
  auto ask(const std::string& name, Question&& question) -> decltype(question()) {
    if (!may_ask())
      return Error{ErrorCode::unavailable, name + " is skipped for a while, since it gave no answer",
                   "it is asked again by itself"};
    auto answer = question();
    note(answer);
    return answer;
  }

 private:
  std::chrono::milliseconds rest_;
  std::atomic<std::int64_t> asked_from_{0};  // steady clock; 0: the last request was answered
};

}  // namespace cubinet
