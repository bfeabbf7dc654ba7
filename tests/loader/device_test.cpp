// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"

#include <cubinet/loader/memory.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using cubinet::test::DriverUnderTest;

TEST_CASE("A device that the machine does not have is refused by number") {
  const DriverUnderTest test;
  if (!test.ready) return;
  for (const int ordinal : {-1, 1000}) {
    const auto device = Device::open(test.driver, ordinal);
    REQUIRE(!device);
    CHECK(device.error().code == ErrorCode::invalid_argument);
    CHECK(device.error().message.find(std::to_string(ordinal)) != std::string::npos);
    CHECK(!device.error().remedy.empty());
  }
  CHECK(Device::open(nullptr, 0).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("Two handles of a device share its primary context") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto other = Device::open(test.driver, 0);
  REQUIRE(other);
  CHECK((*other)->context() == test.device->context());
  CHECK((*other)->ordinal() == 0);
  CHECK((*other)->properties().name == test.device->properties().name);
}

TEST_CASE("A context is current for as long as its guard lives") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Function function = test.function("vector_add");
  const auto launch = [&] {
    return function.launch({}, static_cast<float*>(nullptr), static_cast<const float*>(nullptr),
                           static_cast<const float*>(nullptr), 0U);
  };
  CHECK(!launch());
  {
    auto outer = test.device->make_current();
    REQUIRE(outer);
    CHECK(launch());
    {
      const auto inner = test.device->make_current();
      REQUIRE(inner);
      CHECK(launch());
    }
    const Device::ContextGuard moved = *std::move(outer);
    CHECK(launch());
  }
  CHECK(!launch());
}

TEST_CASE("A context that is current already is not pushed again") {
  const DriverUnderTest test;
  if (!test.ready || test.stub == nullptr) return;
  const auto outer = test.device->make_current();
  REQUIRE(outer);
  const unsigned pushed = test.stub->calls("cuCtxPushCurrent");
  {
    const auto inner = test.device->make_current();
    REQUIRE(inner);
    CHECK(test.stub->calls("cuCtxPushCurrent") == pushed);
  }
  CHECK(test.stub->current_contexts() == 1);
}

TEST_CASE("Nothing but a guard leaves a context current") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Function function = test.function("vector_add");
  const auto buffer = DeviceBuffer::allocate(test.device, 64);
  REQUIRE(buffer);
  CHECK(buffer->fill(std::byte{1}));
  CHECK(function.maximum_blocks_per_multiprocessor(128, 0));
  const auto launched = function.launch({}, static_cast<float*>(nullptr), static_cast<const float*>(nullptr),
                                        static_cast<const float*>(nullptr), 0U);
  REQUIRE(!launched);
  CHECK(launched.error().code == ErrorCode::driver);
  CHECK(launched.error().message.find("CUDA_ERROR_INVALID_CONTEXT") != std::string::npos);
}
