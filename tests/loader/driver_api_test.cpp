// SPDX-License-Identifier: Apache-2.0
// Tests the states of a driver: absent, old, incomplete, with several devices. Controls the stub.
#include "driver_api.hpp"

#include "loader/driver_under_test.hpp"
#include "support/text.hpp"

#include <cubinet/loader/module_cache.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using cubinet::test::contains;
using cubinet::test::driver_library;
using cubinet::test::DriverUnderTest;
using cubinet::test::needs_stub;

TEST_CASE("A driver older than CUDA 11 point 4 is refused with both versions") {
  const DriverUnderTest test(DriverUnderTest::Unopened{});
  if (needs_stub(test)) return;
  test.stub->set_version(11030);
  const auto driver = Driver::open(driver_library());
  REQUIRE(!driver);
  CHECK(driver.error().code == ErrorCode::unsupported);
  CHECK(contains(driver.error().message, "CUDA 11.3"));
  CHECK(contains(driver.error().message, "CUDA 11.4"));
  CHECK(contains(driver.error().remedy, "newer NVIDIA driver"));
}

TEST_CASE("A machine without a device gives unavailable") {
  const DriverUnderTest test(DriverUnderTest::Unopened{});
  if (needs_stub(test)) return;
  test.stub->set_devices(0, 9, 0);
  const auto driver = Driver::open(driver_library());
  REQUIRE(!driver);
  CHECK(driver.error().code == ErrorCode::unavailable);
  CHECK(driver.error().native == CUDA_ERROR_NO_DEVICE);
  CHECK(contains(driver.error().message, "CUDA_ERROR_NO_DEVICE"));
}

TEST_CASE("A driver that does not start gives unavailable with its reason") {
  const DriverUnderTest test(DriverUnderTest::Unopened{});
  if (needs_stub(test)) return;
  test.stub->fail("cuInit", 1, CUDA_ERROR_UNKNOWN);
  const auto driver = Driver::open(driver_library());
  REQUIRE(!driver);
  CHECK(driver.error().code == ErrorCode::unavailable);
  CHECK(contains(driver.error().message, "cuInit gives CUDA_ERROR_UNKNOWN (999)"));
  CHECK(Driver::open(driver_library()));
}

TEST_CASE("The link time stub of the toolkit is told apart") {
  const DriverUnderTest test(DriverUnderTest::Unopened{});
  if (needs_stub(test)) return;
  test.stub->fail("cuDriverGetVersion", 1, CUDA_ERROR_STUB_LIBRARY);
  const auto driver = Driver::open(driver_library());
  REQUIRE(!driver);
  CHECK(driver.error().code == ErrorCode::unavailable);
  CHECK(contains(driver.error().remedy, "link-time stub"));
}

TEST_CASE("A function that has to be there is named with the version that introduced it") {
  DriverUnderTest test(DriverUnderTest::Unopened{});
  if (needs_stub(test)) return;
  for (const DriverFunctionName& function : kDriverFunctions) {
    if (function.version > kMinimumDriverVersion) continue;
    test.stub->reset();
    test.stub->hide(function.name);
    const auto driver = Driver::open(driver_library());
    REQUIRE(!driver);
    CHECK(driver.error().code == ErrorCode::unsupported);
    CHECK(contains(driver.error().message, std::string(function.name) + ","));
    CHECK(contains(driver.error().message, "CUDA " + cuda_version_text(function.version)));
  }
}

TEST_CASE("A driver works without any of the functions that came later") {
  DriverUnderTest test(DriverUnderTest::Unopened{});
  if (needs_stub(test)) return;
  unsigned optional = 0;
  for (const DriverFunctionName& function : kDriverFunctions) {
    if (function.version <= kMinimumDriverVersion) continue;
    ++optional;
    CAPTURE(function.name);
    test.device = nullptr;
    test.driver = nullptr;
    test.stub->reset();
    test.stub->hide(function.name);
    test.open();
    const auto current = test.device->make_current();
    REQUIRE(current);
    const Function add = test.function("vector_add");
    float* const pointer = nullptr;
    CHECK(add.launch({}, pointer, pointer, pointer, 0U));
    CHECK(add.launch({.cooperative = true}, pointer, pointer, pointer, 0U));
    CHECK(test.stub->launch_count() == 2);
  }
  CHECK(optional >= 6);
}

TEST_CASE("Clusters without the extended launch are unsupported and say why") {
  DriverUnderTest test(DriverUnderTest::Unopened{});
  if (needs_stub(test)) return;
  test.stub->hide("cuLaunchKernelEx");
  test.open();
  const auto current = test.device->make_current();
  REQUIRE(current);
  const Function ranks = *test.load(cubinet::test::cluster_cubin(test.target()))->function();
  unsigned* const pointer = nullptr;
  const auto result = ranks.launch({.grid = {2, 1, 1}}, pointer, pointer);
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::unsupported);
  CHECK(contains(result.error().message, "cuLaunchKernelEx"));
  CHECK(ranks.launch({.cluster = {1, 1, 1}}, pointer, pointer));
}

TEST_CASE("A device without clusters refuses them before the driver does") {
  DriverUnderTest test(DriverUnderTest::Unopened{});
  if (needs_stub(test)) return;
  test.stub->set_devices(1, 8, 6);
  test.open();
  CHECK(!test.device->properties().cluster_launch);
  CHECK(test.device->properties().maximum_shared_bytes_per_block == 99 * 1024);
  const auto current = test.device->make_current();
  REQUIRE(current);
  float* const pointer = nullptr;
  const auto result = test.function("vector_add")
                          .launch({.grid = {2, 1, 1}, .cluster = {2, 1, 1}}, pointer, pointer, pointer, 0U);
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::unsupported);
  CHECK(contains(result.error().message, "no thread block clusters"));
  const Cubin listed = cubinet::test::with_record(test.cubin(), [](CubinRecord& record) {
    record.entry_points[0].cluster = {2, 1, 1};
  });
  CHECK(Module::load(test.device, listed).error().code == ErrorCode::unsupported);
}

TEST_CASE("Every device has its own context, module and launches") {
  DriverUnderTest test(DriverUnderTest::Unopened{});
  if (needs_stub(test)) return;
  test.stub->set_devices(3, 9, 0);
  test.stub->set_capability(2, 8, 0);
  test.open();
  REQUIRE(test.driver->devices().size() == 3);
  CHECK(test.driver->devices()[2].capability == ComputeCapability{8, 0});
  CHECK(test.driver->devices()[0].uuid != test.driver->devices()[1].uuid);
  CHECK(Device::open(test.driver, 3).error().remedy == "devices are 0 to 2");
  ModuleCache cache;
  const auto second = Device::open(test.driver, 1);
  const auto third = Device::open(test.driver, 2);
  REQUIRE(second);
  REQUIRE(third);
  CHECK((*second)->context() != test.device->context());
  const auto here = cache.get_or_load(test.device, test.cubin());
  const auto there = cache.get_or_load(*second, test.cubin());
  REQUIRE(here);
  REQUIRE(there);
  CHECK(here->get() != there->get());
  CHECK(cache.memory().modules == 2);
  const auto foreign = cache.get_or_load(*third, test.cubin());
  REQUIRE(!foreign);
  CHECK(contains(foreign.error().message, "device 2 (Stub GPU 2)"));
  const Function add = *(*there)->function("vector_add");
  float* const pointer = nullptr;
  {
    const auto current = test.device->make_current();
    REQUIRE(current);
    const auto wrong = add.launch({}, pointer, pointer, pointer, 0U);
    REQUIRE(!wrong);
    CHECK(contains(wrong.error().message, "device 1"));
    CHECK(contains(wrong.error().remedy, "make_current"));
  }
  const auto current = (*second)->make_current();
  REQUIRE(current);
  CHECK(add.launch({}, pointer, pointer, pointer, 0U));
  cubinet_stub_launch_record launch{};
  REQUIRE(test.stub->launch(0, &launch) == 1);
  CHECK(launch.device == 1);
}
