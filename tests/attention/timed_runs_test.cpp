// SPDX-License-Identifier: Apache-2.0
#include "bound_fixture.hpp"

#include <cubinet/attention/measure.hpp>

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("copies hold more than any L2, and turn evenly in a graph") {
  constexpr double kMiB = 1024 * 1024;
  CHECK(cold_copies(1, 20) == 20);
  CHECK(cold_copies(16 * kMiB, 20) == 20);
  CHECK(cold_copies(90 * kMiB, 20) == 4);
  CHECK(cold_copies(256 * kMiB, 20) == 1);
  CHECK(cold_copies(1e12, 20) == 1);
}

TEST_CASE("runs are recorded once each and timed together") {
  const BoundSetting setting;
  const BoundAttention attention = setting.bind();
  std::uint32_t recorded = 0;
  const auto record = [&](std::uint32_t run, CUstream stream) {
    CHECK(run == recorded++);
    return attention.run(setting.buffers.tensors(), stream);
  };
  const TimedRuns runs = ok(TimedRuns::capture(setting.device, 7, record));
  CHECK(recorded == 7);
  CHECK(ok(runs.seconds_a_run(3)) >= 0);
  CHECK(recorded == 7);
}

TEST_CASE("a run that cannot be recorded is the answer") {
  const BoundSetting setting;
  const auto record = [](std::uint32_t run, CUstream) -> Result<void> {
    if (run == 0) return {};
    return Error{ErrorCode::unsupported, "no second run"};
  };
  const auto captured = TimedRuns::capture(setting.device, 2, record);
  REQUIRE_FALSE(captured);
  CHECK(captured.error().message == "no second run");
}

}  // namespace
}  // namespace cubinet
