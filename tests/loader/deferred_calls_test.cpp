// SPDX-License-Identifier: Apache-2.0
#include "deferred_calls.hpp"

#include "driver_api.hpp"

#include <doctest/doctest.h>

#include <string>

using cubinet::DeferredCalls;
using cubinet::DriverApi;

TEST_CASE("Deferred calls are made once, in their order, and not inside a callback") {
  DeferredCalls deferred;
  std::string made;
  deferred.add([&](const DriverApi&) { made += "a"; });
  deferred.add([&](const DriverApi&) { made += "b"; });
  CHECK_FALSE(DeferredCalls::in_callback());
  {
    const DeferredCalls::CallbackScope outer;
    { const DeferredCalls::CallbackScope inner; }
    CHECK(DeferredCalls::in_callback());
    deferred.run({});
    CHECK(made.empty());
  }
  CHECK_FALSE(DeferredCalls::in_callback());
  deferred.run({});
  deferred.run({});
  CHECK(made == "ab");
}

TEST_CASE("A deferred call may defer another") {
  DeferredCalls deferred;
  unsigned made = 0;
  deferred.add([&](const DriverApi&) { deferred.add([&](const DriverApi&) { ++made; }); });
  deferred.run({});
  CHECK(made == 0);
  deferred.run({});
  CHECK(made == 1);
}
