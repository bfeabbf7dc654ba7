// SPDX-License-Identifier: Apache-2.0
#include "device_fixture.hpp"
#include "support/failing_allocations.hpp"

#include <cubinet/loader/driver.hpp>

namespace cubinet {
namespace {

using namespace test;

constexpr int kRequests = 1'000'000;
constexpr int kUnknownEach = 100;
constexpr int kLaunchEach = 1'000;

TEST_CASE("a prepared and frozen Runtime calls the driver for launches and capture queries alone") {
  const TempDir folder;
  const Stub stub;
  if (stub.missing()) return;
  const auto runtime = make_runtime(device_options(folder / "h"));
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (int factor = 1; factor <= 4; ++factor) {
    kernels.push_back(*runtime->resolve(scale_spec(factor)));
    REQUIRE(runtime->function(*kernels.back(), 0));
  }
  const auto unknown = *runtime->resolve(scale_spec(900));
  REQUIRE(runtime->freeze());
  std::filesystem::remove_all(folder / "h");  // stores are not read
  write_file(folder / "h", "a file in the place of the home");
  const auto device = *runtime->device(0);
  const auto current = device->make_current();
  REQUIRE(current);
  const unsigned calls = stub.calls(nullptr);
  const std::uint64_t asked = runtime->counters().stores.at(1).asked;
  int launches = 0;
  int wrong = 0;
  unsigned allocated = 0;
  for (int i = 0; i < kRequests; ++i) {
    if (i % kUnknownEach == 0) {
      wrong += runtime->function_on_stream(*unknown, 0, nullptr) ? 1 : 0;
      continue;
    }
    const Kernel& kernel = *kernels[static_cast<std::size_t>(i) % kernels.size()];
    const unsigned before = allocations();
    const auto function = runtime->function_on_stream(kernel, 0, nullptr);
    allocated += allocations() - before;
    wrong += function ? 0 : 1;
    if (!function || i % kLaunchEach != 1) continue;
    ++launches;
    wrong += function->launch({}, ScaleParameters{}) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(allocated == 0);
  CHECK(launches == kRequests / kLaunchEach);
  CHECK(stub.calls("cuLaunchKernelEx") == static_cast<unsigned>(launches));
  CHECK(stub.calls(nullptr) - calls == stub.calls("cuLaunchKernelEx") + stub.calls("cuStreamIsCapturing"));
  CHECK(runtime->counters().stores.at(1).asked == asked);
  CHECK(runtime->refusals()->entries.at(0).count == kRequests / kUnknownEach);
}

}  // namespace
}  // namespace cubinet
