// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bare_driver.hpp"
#include "rounds.hpp"

namespace cubinet::bench {

// A batch fits the driver's launch queue and completes before the next begins, so no launch waits
// for a full queue.
inline constexpr int kLaunchesOfBatch = 256;
inline constexpr int kBatchesOfRound = 40;

// Returns the seconds per launch. `launch` returns the result of its call.
template <class Launch>
Result<double> time_launches(const BareDriverApi& api, Launch&& launch) {
  double seconds = 0;
  for (int batch = 0; batch < kBatchesOfRound; ++batch) {
    const double start = now_seconds();
    for (int i = 0; i < kLaunchesOfBatch; ++i)
      CUBINET_TRY(launch());
    seconds += now_seconds() - start;
    CUBINET_TRY(check(api.stream_synchronize(nullptr), "cuStreamSynchronize"));
  }
  return seconds / (kLaunchesOfBatch * kBatchesOfRound);
}

}  // namespace cubinet::bench
