// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/text.hpp"

#include <cubinet/session/device_usage.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("without a store no row is counted") {
  SessionOptions session;
  session.compiler.library = "/absent.so";
  const DeviceUsage usage = ok(DeviceUsage::of(session, nullptr, {9, 0}));
  CHECK(to_text(usage) ==
        "\nrows         0\ndevice       9.0: 0 usable, 0 specific, 0 by family, 0 baseline; 0 kernels for "
        "other devices");
  const auto described = describe(usage);
  CHECK(described["device"] == "9.0");
  CHECK(described["by_target"] == nlohmann::json{{"specific", 0}, {"family", 0}, {"baseline", 0}});
}

TEST_CASE("stale and foreign kernels are counted apart") {
  DeviceUsage usage{{9, 0}, {}};
  usage.found.stale = 2;
  usage.found.foreign = 1;
  CHECK(contains(to_text(usage), "; 2 stale, 1 of another interface version"));
  CHECK(describe(usage)["stale"] == 2);
}
