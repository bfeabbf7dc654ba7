// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime_fixture.hpp"
#include "stub_driver/stub_control.h"
#include "support/skip.hpp"

#include <cubinet/base/dynamic_library.hpp>

#include <cstdlib>

namespace cubinet::test {

inline RuntimeOptions device_options(const std::filesystem::path& home, Journal* journal = nullptr) {
  RuntimeOptions options = runtime_options(home, journal);
  if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) options.driver_library = library;
  return options;
}

// The controls of the stub driver, which is reset; null where the driver under test is a real one.
struct Stub {
  decltype(&cubinet_stub_fail) fail = nullptr;
  decltype(&cubinet_stub_calls) calls = nullptr;
  decltype(&cubinet_stub_launch) launch = nullptr;
  decltype(&cubinet_stub_reset_context) reset_context = nullptr;
  decltype(&cubinet_stub_set_devices) set_devices = nullptr;

  Stub() {
    const char* library = std::getenv("CUBINET_TEST_DRIVER");
    if (library == nullptr) return;
    const auto opened = DynamicLibrary::open(library);
    REQUIRE(opened);
    fail = reinterpret_cast<decltype(fail)>(opened->find("cubinet_stub_fail"));
    calls = reinterpret_cast<decltype(calls)>(opened->find("cubinet_stub_calls"));
    launch = reinterpret_cast<decltype(launch)>(opened->find("cubinet_stub_launch"));
    reset_context = reinterpret_cast<decltype(reset_context)>(opened->find("cubinet_stub_reset_context"));
    set_devices = reinterpret_cast<decltype(set_devices)>(opened->find("cubinet_stub_set_devices"));
    const auto reset = reinterpret_cast<decltype(&cubinet_stub_reset)>(opened->find("cubinet_stub_reset"));
    if (reset != nullptr) reset();
  }
  // Whether to leave a test case that steers the stub.
  bool missing() const {
    if (fail == nullptr) skip("it steers the driver, which only the stub allows");
    return fail == nullptr;
  }
};

// A bundle of the kernel's builds for these targets; `lies`: their records name a kernel that is
// not there.
inline std::shared_ptr<Bundle> bundle_of(Runtime& builder, const std::filesystem::path& path,
                                         const std::vector<SmTarget>& targets, std::uint64_t version,
                                         bool lies = false) {
  std::vector<Cubin> cubins;
  for (const SmTarget target : targets) {
    const auto built = builder.cubin(scale_spec(), target);
    REQUIRE(built);
    CubinRecord record = *(*built)->cubin.record;
    if (lies) record.entry_points.front().symbol = "not_in_the_image";
    cubins.push_back({std::make_shared<const CubinRecord>(std::move(record)), (*built)->cubin.image});
  }
  REQUIRE(create_bundle(path.string(), std::move(cubins), {"test", version}));
  return open_bundle(path);
}

}  // namespace cubinet::test
