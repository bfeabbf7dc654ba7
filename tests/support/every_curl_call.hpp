// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/counted.hpp"
#include "support/curl_faults.hpp"
#include "support/sampled.hpp"

#include <doctest/doctest.h>

#include <functional>

namespace cubinet::test {

// Runs `attempt` once per call that can fail. `attempt` returns whether it succeeded, and must have
// released all its clients. `check` runs without faults and receives that result. Then the next
// attempt must succeed.
inline void for_every_curl_call(CurlFaults& faults, const std::function<bool()>& attempt,
                                const std::function<void(bool)>& check) {
  faults.set(CurlFaults::Kind::none);
  REQUIRE(attempt());
  const unsigned calls = faults.calls();
  REQUIRE(calls > 30);
  check(true);
  const unsigned before = faults.failed();
  for (const auto kind : {CurlFaults::Kind::once, CurlFaults::Kind::from_then_on}) {
    for (const std::size_t at : sampled(calls, 32)) {
      CAPTURE(at);
      faults.set(kind, static_cast<unsigned>(at) + 1);
      const bool done = attempt();
      faults.set(CurlFaults::Kind::none);
      CHECK(faults.alive() == 0);
      // A fault without visible effect: the request was repeated.
      check(done);
      CHECK(attempt());
      check(true);
    }
  }
  CHECK(faults.failed() > before);
  counted(faults.failed() - before, "faults");
}

}  // namespace cubinet::test
