// SPDX-License-Identifier: Apache-2.0
#include "look_up_timing.hpp"

#include "rounds.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace cubinet::bench {

Result<double> time_look_ups(unsigned threads,
                             const std::function<Result<Function>(unsigned, int)>& look_up) {
  constexpr int kLookUps = 100000;
  std::vector<double> seconds(threads, 0);
  std::vector<Result<void>> outcomes(threads);
  std::atomic<unsigned> ready{0};
  const auto work = [&](unsigned index) {
    // Otherwise the first thread ends before the last begins.
    for (++ready; ready != threads;)
      std::this_thread::yield();
    const double start = now_seconds();
    for (int i = 0; i < kLookUps; ++i) {
      const Result<Function> function = look_up(index, i);
      if (!function) {
        outcomes[index] = function.error();
        return;
      }
    }
    seconds[index] = (now_seconds() - start) / kLookUps;
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i)
    workers.emplace_back(work, i);
  for (std::thread& worker : workers)
    worker.join();
  for (const Result<void>& outcome : outcomes)
    CUBINET_TRY(outcome);
  return median(seconds);
}

}  // namespace cubinet::bench
