// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/attention/device_facts.hpp>
#include <cubinet/loader/driver.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

TEST_CASE("a device that is named has the usual count of multiprocessors unless another is given") {
  CHECK(ok(DeviceFacts::named("sm_90")).sm_count == 132);
  CHECK(ok(DeviceFacts::named("9.0", 114)).sm_count == 114);
  CHECK(ok(DeviceFacts::named("10.0")).capability == ComputeCapability{10, 0});
  CHECK(DeviceFacts::named("sm_86").error().code == ErrorCode::invalid_argument);
  CHECK(DeviceFacts::named("sm_90", 1'000'000).error().code == ErrorCode::invalid_argument);
  CHECK(DeviceFacts::named("9.9", 132).error().remedy.find("known devices: ") == 0);
  CHECK(DeviceFacts::named("H200").error().code == ErrorCode::invalid_argument);
  CHECK(usual_devices().find("9.0 (H100 and H200, SXM)") != std::string::npos);
}

TEST_CASE("the facts of a device that a driver describes include its limit of shared memory") {
  DeviceProperties device;
  device.capability = {9, 0};
  device.multiprocessors = 78;
  device.maximum_shared_bytes_per_block = 1000;
  const DeviceFacts facts = DeviceFacts::of(device);
  CHECK(facts.capability == device.capability);
  CHECK(facts.sm_count == 78);
  CHECK(facts.shared_limit() == 1000);
}
