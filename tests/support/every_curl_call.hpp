// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/counted.hpp"
#include "support/curl_faults.hpp"
#include "support/sampled.hpp"

#include <doctest/doctest.h>

#include <functional>

namespace cubinet::test {

// `attempt` says whether it went through, and has let go of all its clients. `check`, without faults: what it
// said; then the next attempt has to go through.
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
      // A fault that nothing is to be seen of: it was asked again.
      check(done);
      CHECK(attempt());
      check(true);
    }
  }
  CHECK(faults.failed() > before);
  counted(faults.failed() - before, "faults");
}

}  // namespace cubinet::test
