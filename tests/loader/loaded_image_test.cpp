// SPDX-License-Identifier: Apache-2.0
// Tests libraries, modules for drivers without libraries, and the driver's errors for both.
// Controls the stub.
#include "loader/driver_under_test.hpp"
#include "support/skip.hpp"
#include "support/text.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using cubinet::test::contains;
using cubinet::test::DriverUnderTest;
using cubinet::test::needs_stub;

TEST_CASE("A library of no kernels is not a loaded module") {
  const DriverUnderTest test;
  if (needs_stub(test)) return;
  // The device changes after the driver was queried, so that only the number of kernels reveals it.
  test.stub->set_capability(0, 10, 0);
  const auto module = Module::load(test.device, test.cubin());
  REQUIRE(!module);
  CHECK(test.stub->calls("cuLibraryLoadData") == 1);
  CHECK(module.error().code == ErrorCode::unsupported);
  CHECK(contains(module.error().message, "found 0 kernels"));
  CHECK(test.stub->live("image") == 0);
}

TEST_CASE("A driver from before CUDA 12 loads modules a context at a time") {
  const auto* stub = cubinet::test::old_stub_controls();
  if (stub == nullptr) {
    cubinet::test::skip("it steers the driver, which only the stub allows");
    return;
  }
  stub->reset();
  stub->set_version(11080);
  std::vector<std::string> log;
  const auto driver = Driver::open(cubinet::test::old_driver_library(),
                                   [&](const LogRecord& record) { log.emplace_back(record.message); });
  REQUIRE(driver);
  CHECK((*driver)->version() == 11080);
  CHECK(!(*driver)->has_libraries());
  REQUIRE(log.size() == 1);
  CHECK(contains(log[0], "argument"));
  {
    const auto device = Device::open(*driver, 0);
    REQUIRE(device);
    const auto module = Module::load(*device, cubinet::test::test_cubin({9, 0, TargetKind::baseline}));
    REQUIRE(module);
    CHECK(stub->calls("cuModuleLoadData") == 1);
    CHECK(stub->calls("cuLibraryLoadData") == 0);
    CHECK(stub->live("image") == 1);
    const auto current = (*device)->make_current();
    REQUIRE(current);
    float* const pointer = nullptr;
    CHECK((*module)->function("vector_add")->launch({}, pointer, pointer, pointer, 0U));
    // Only the record states the arguments of this kernel.
    CHECK((*module)->function("scale")->launch({}, 1.0F).error().code == ErrorCode::invalid_argument);
    CHECK((*module)->function("scale")->launch({}, cubinet::test::ScaleArguments{}));
    const auto foreign = Module::load(*device, cubinet::test::test_cubin({8, 0, TargetKind::baseline}));
    CHECK(foreign.error().code == ErrorCode::unsupported);
  }
  CHECK(stub->live("image") == 0);
  CHECK(stub->live("context") == 0);
  CHECK(stub->current_contexts() == 0);
}
