// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loader/test_kernels.hpp"
#include "stub_driver/stub_control.h"

#include <cubinet/loader/driver.hpp>
#include <cubinet/loader/module.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cubinet::test {

// The controls of the stub driver, found in the library under test.
struct StubControls {
#define CUBINET_STUB_POINTER(result, name, parameters) result(*name) parameters = nullptr;
  CUBINET_STUB_CONTROLS(CUBINET_STUB_POINTER)
#undef CUBINET_STUB_POINTER
};

// Returns the library that CUBINET_TEST_DRIVER names, or the machine's own driver if it is not set.
std::optional<std::string> driver_library();
// Returns nullptr if the driver under test is not the stub.
const StubControls* stub_controls();
// Return the same for the stub that is older than CUDA 12.0, which CUBINET_TEST_DRIVER_11 names.
std::optional<std::string> old_driver_library();
const StubControls* old_stub_controls();

// The driver under test, new for each test case: the stub is reset first. A test case that requires
// a driver or GPU is skipped if there is none. `ready` is false then.
struct DriverUnderTest {
  DriverUnderTest();
  // For tests that change the stub before the driver is opened. Neither driver nor device is set.
  struct Unopened {};
  explicit DriverUnderTest(Unopened);
  void open();

  bool ready = false;
  const StubControls* stub = nullptr;  // nullptr: a real driver
  // The messages that the driver's log sink received.
  std::shared_ptr<std::vector<std::string>> log = std::make_shared<std::vector<std::string>>();
  std::shared_ptr<const Driver> driver;
  std::shared_ptr<const Device> device;  // device 0

  // The kernels of test_kernels.hpp, for device 0.
  SmTarget target() const;
  Cubin cubin() const { return test_cubin(target()); }
  std::shared_ptr<const Module> load(const Cubin& cubin) const;
  Function function(const char* name) const;
};

// Returns whether a test case that controls the stub must end because the driver is not the stub.
// Reports it.
bool needs_stub(const DriverUnderTest& test);

}  // namespace cubinet::test
