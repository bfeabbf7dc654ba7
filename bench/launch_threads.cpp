// SPDX-License-Identifier: Apache-2.0
#include "launch_threads.hpp"

#include "launch_timing.hpp"

#include <atomic>
#include <numeric>
#include <thread>

namespace cubinet::bench {

Result<void> run_threads(const Device& device, unsigned threads,
                         const std::function<Result<void>(unsigned)>& work) {
  std::vector<Result<void>> outcomes(threads);
  std::atomic<unsigned> ready{0};
  const auto run = [&](unsigned index) -> Result<void> {
    const auto context = device.make_current();
    for (++ready; ready != threads;)
      std::this_thread::yield();
    if (!context) return context.error();
    return work(index);
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i)
    workers.emplace_back([&, i] { outcomes[i] = run(i); });
  for (std::thread& worker : workers)
    worker.join();
  for (const Result<void>& outcome : outcomes)
    CUBINET_TRY(outcome);
  return {};
}

Result<double> time_thread_launches(const std::vector<Stream>& streams, unsigned threads,
                                    const ThreadLaunch& launch) {
  constexpr int kBatches = 16;
  std::vector<double> seconds(threads, 0);
  const auto work = [&](unsigned index) -> Result<void> {
    const Stream& stream = streams[index];
    for (int batch = 0; batch < kBatches; ++batch) {
      const double start = now_seconds();
      for (int i = 0; i < kLaunchesOfBatch; ++i)
        CUBINET_TRY(launch(index, batch * kLaunchesOfBatch + i, stream.handle()));
      seconds[index] += now_seconds() - start;
      CUBINET_TRY(stream.synchronize());
    }
    return {};
  };
  CUBINET_TRY(run_threads(*streams.front().device(), threads, work));
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / (threads * kBatches * kLaunchesOfBatch);
}

}  // namespace cubinet::bench
