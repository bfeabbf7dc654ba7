// SPDX-License-Identifier: Apache-2.0
// Tests the data read from a function when its module is loaded. Launches are tested in
// function_test.cpp.
#include "loader/driver_under_test.hpp"
#include "support/text.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using cubinet::test::contains;
using cubinet::test::DriverUnderTest;
using cubinet::test::with_record;

TEST_CASE("Arguments of another size than the record says are corruption with both numbers") {
  const DriverUnderTest test;
  if (!test.ready || test.driver->version() < 12040) return;
  const Cubin larger =
      with_record(test.cubin(), [](CubinRecord& record) { record.entry_points[1].parameter_bytes = 32; });
  const auto module = Module::load(test.device, larger);
  REQUIRE(!module);
  CHECK(module.error().code == ErrorCode::corruption);
  CHECK(contains(module.error().message, "'scale'"));
  CHECK(contains(module.error().message, "1 argument of 24 bytes"));
  CHECK(contains(module.error().message, "one argument of 32 bytes"));
  const Cubin several =
      with_record(test.cubin(), [](CubinRecord& record) { record.entry_points[0].parameter_bytes = 32; });
  const auto other = Module::load(test.device, several);
  REQUIRE(!other);
  CHECK(contains(other.error().message, "4 arguments of 8, 8, 8 and 4 bytes"));
  if (test.stub != nullptr) CHECK(test.stub->live("image") == 0);
}

TEST_CASE("The driver is asked for no argument besides the only one that the image has") {
  const DriverUnderTest test;
  if (!test.ready || test.stub == nullptr || test.driver->version() < 12040) return;
  const Cubin scale =
      with_record(test.cubin(), [](CubinRecord& record) { record.entry_points = {record.entry_points[1]}; });
  const unsigned before = test.stub->calls("cuFuncGetParamInfo");
  REQUIRE(Module::load(test.device, scale));
  CHECK(test.stub->calls("cuFuncGetParamInfo") - before == 1);
}

TEST_CASE("A record that no launch on the device can follow is unsupported with the numbers") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const std::uint32_t limit = test.device->properties().maximum_shared_bytes_per_block;
  const Cubin greedy = with_record(
      test.cubin(), [&](CubinRecord& record) { record.entry_points[2].dynamic_shared_bytes = limit; });
  const auto shared = Module::load(test.device, greedy);
  REQUIRE(!shared);  // the kernel also has 4 bytes of static shared memory
  CHECK(shared.error().code == ErrorCode::unsupported);
  CHECK(contains(shared.error().message, "'shared_sum'"));
  CHECK(contains(shared.error().message, std::to_string(limit)));
  const Cubin crowded =
      with_record(test.cubin(), [](CubinRecord& record) { record.entry_points[0].threads = 2048; });
  const auto threads = Module::load(test.device, crowded);
  REQUIRE(!threads);
  CHECK(threads.error().code == ErrorCode::unsupported);
  CHECK(contains(threads.error().message, "2048"));
}
