// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"

#include "support/skip.hpp"

#include <cubinet/base/dynamic_library.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <optional>

namespace cubinet::test {
namespace {

std::optional<std::string> library_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<StubControls> find_controls(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  auto library = DynamicLibrary::open(*name);
  if (!library) return std::nullopt;
  StubControls controls;
#define CUBINET_STUB_FIND(result, name, parameters)                               \
  if (void* address = library->find("cubinet_stub_" #name); address != nullptr) { \
    std::memcpy(&controls.name, &address, sizeof(address));                       \
  } else {                                                                        \
    return std::nullopt;                                                          \
  }
  CUBINET_STUB_CONTROLS(CUBINET_STUB_FIND)
#undef CUBINET_STUB_FIND
  return controls;
}

}  // namespace

std::optional<std::string> driver_library() {
  return library_from("CUBINET_TEST_DRIVER");
}
std::optional<std::string> old_driver_library() {
  return library_from("CUBINET_TEST_DRIVER_11");
}

const StubControls* stub_controls() {
  static const std::optional<StubControls> controls = find_controls(driver_library());
  return controls ? &*controls : nullptr;
}

const StubControls* old_stub_controls() {
  static const std::optional<StubControls> controls = find_controls(old_driver_library());
  return controls ? &*controls : nullptr;
}

DriverUnderTest::DriverUnderTest(Unopened) : stub(stub_controls()) {
  if (stub != nullptr) stub->reset();
}

DriverUnderTest::DriverUnderTest() : DriverUnderTest(Unopened{}) {
  open();
}

void DriverUnderTest::open() {
  auto opened = Driver::open(driver_library(),
                             [lines = log](const LogRecord& record) { lines->emplace_back(record.message); });
  if (!opened && opened.error().code == ErrorCode::unavailable && stub == nullptr) {
    skip(opened.error().to_line());
    return;
  }
  REQUIRE_MESSAGE(opened.has_value(), opened.error().to_line());
  driver = *opened;
  auto opened_device = Device::open(driver, 0);
  REQUIRE_MESSAGE(opened_device.has_value(), opened_device.error().to_line());
  device = *opened_device;
  ready = true;
}

SmTarget DriverUnderTest::target() const {
  const ComputeCapability capability = device->properties().capability;
  return {capability.major, capability.minor, TargetKind::baseline};
}

std::shared_ptr<const Module> DriverUnderTest::load(const Cubin& cubin) const {
  auto module = Module::load(device, cubin);
  REQUIRE_MESSAGE(module.has_value(), module.error().to_line());
  return *module;
}

Function DriverUnderTest::function(const char* name) const {
  auto found = load(cubin())->function(name);
  REQUIRE_MESSAGE(found.has_value(), found.error().to_line());
  return *found;
}

bool needs_stub(const DriverUnderTest& test) {
  if (test.stub != nullptr) return false;
  skip("it steers the driver, which only the stub allows");
  return true;
}

}  // namespace cubinet::test
