// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/distribution/circuit_breaker.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <vector>

namespace cubinet {

// The order in which servers of the same content are queried. A server that gave no answer is
// skipped for `rest`, unless all are skipped. Thread-safe. REQUIRES: at least one.
class MirrorOrder {
 public:
  MirrorOrder(std::size_t servers, std::chrono::milliseconds rest);

  // Calls ask(number, whether another was queried before) for one server after the other until an
  // answer is final. If all fail, returns their combined error, or success if its code is
  // `accepted`.
  template <class Ask>
  Result<void> first_of(const Ask& ask, std::optional<ErrorCode> accepted = {}) {
    const Turn turn = next_turn();
    std::optional<Error> error;
    for (const std::size_t server : turn.asked) {
      auto answer = ask(server, error.has_value());
      breakers_[server].note(answer);
      if (answer || !is_of_this_server(answer.error().code)) return answer;
      add(error, std::move(answer).error());
    }
    return conclude(*std::move(error), turn.passed_over, accepted);
  }

 private:
  struct Turn {
    std::vector<std::size_t> asked;
    std::size_t passed_over = 0;
  };
  static bool is_of_this_server(ErrorCode code);
  static void add(std::optional<Error>& error, Error next);
  static Result<void> conclude(Error error, std::size_t passed_over, std::optional<ErrorCode> accepted);
  Turn next_turn();

  std::deque<CircuitBreaker> breakers_;
};

}  // namespace cubinet
