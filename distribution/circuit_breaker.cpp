// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/circuit_breaker.hpp>

namespace cubinet {
namespace {

using BreakerClock = std::chrono::steady_clock;

std::int64_t ticks(BreakerClock::time_point time) {
  return time.time_since_epoch().count();
}

}  // namespace

bool CircuitBreaker::is_resting() const {
  return ticks(BreakerClock::now()) < asked_from_;
}

bool CircuitBreaker::may_ask() {
  std::int64_t from = asked_from_;
  if (from == 0) return true;
  const auto now = BreakerClock::now();
  if (ticks(now) < from) return false;
  // Only the first caller gets true. The others continue to skip the server while it waits.
  return asked_from_.compare_exchange_strong(from, ticks(now + rest_));
}

void CircuitBreaker::note(bool answered) {
  asked_from_ = answered ? 0 : ticks(BreakerClock::now() + rest_);
}

}  // namespace cubinet
