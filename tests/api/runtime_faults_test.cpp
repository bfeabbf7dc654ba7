// SPDX-License-Identifier: Apache-2.0
// A Runtime over a driver that refuses what it is given.
#include "device_fixture.hpp"

#include <cubinet/runtime.hpp>

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("an image that the driver refuses is skipped, and the kernel built anew") {
  const TempDir home;
  const Stub stub;
  if (stub.missing()) return;
  const auto builder = make_runtime(device_options(home / "builder"));
  const auto bundle = bundle_of(*builder, home / "x.bundle", {{9, 0, TargetKind::specific}}, 1);
  for (const int result : {200, 209, 218, 222, 300}) {
    Journal journal;
    auto options = device_options(home / std::to_string(result), &journal);
    options.stores.push_back(bundle);
    const auto runtime = make_runtime(std::move(options));
    stub.fail("cuLibraryLoadData", 1, result);
    const auto function = runtime->function(scale_spec(), 0);
    REQUIRE_MESSAGE(function, function.error().to_line());
    REQUIRE(journal.events.size() == 1);
    CHECK(journal.events[0].source == KernelSource::compiled);
    CHECK(journal.said("bundle build skipped"));
  }
}

TEST_CASE("a failure of the driver itself is no reason to try another build") {
  const TempDir home;
  const Stub stub;
  if (stub.missing()) return;
  Journal journal;
  const auto runtime = make_runtime(device_options(home / "h", &journal));
  stub.fail("cuLibraryLoadData", 1, 2);  // out of memory
  const auto function = runtime->function(scale_spec(), 0);
  REQUIRE_FALSE(function);
  CHECK(function.error().code == ErrorCode::driver);
  CHECK_FALSE(journal.said("skipped"));
  CHECK(stub.calls("cuLibraryLoadData") == 1);
  CHECK(runtime->function(scale_spec(), 0));
}

TEST_CASE("under compile never the next target is tried where the driver refuses one") {
  const TempDir home;
  const Stub stub;
  if (stub.missing()) return;
  const SmTarget specific{9, 0, TargetKind::specific};
  const SmTarget baseline{9, 0, TargetKind::baseline};
  const auto builder = make_runtime(device_options(home / "builder"));
  Journal journal;
  auto options = device_options(home / "h", &journal);
  options.compile = CompilePolicy::never;
  options.stores = {bundle_of(*builder, home / "x.bundle", {specific, baseline}, 1)};
  stub.fail("cuLibraryLoadData", 1, 209);
  REQUIRE(make_runtime(options)->function(scale_spec(), 0));
  REQUIRE(journal.events.size() == 1);
  CHECK(journal.events[0].target == baseline);
}

}  // namespace
}  // namespace cubinet
