// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/loader/stream.hpp>

#include <functional>
#include <vector>

namespace cubinet::bench {

// Launches launch number `i` of a thread on the thread's stream.
using ThreadLaunch = std::function<Result<void>(unsigned thread, int i, CUstream stream)>;

// Returns the mean seconds per launch over all threads while as many threads as there are streams
// launch at once, each on its own stream. A thread waits for its stream after each batch of 256
// launches; the wait is not timed.
Result<double> time_thread_launches(const std::vector<Stream>& streams, unsigned threads,
                                    const ThreadLaunch& launch);

// Runs `work` on `threads` threads at once, each with the device's context current, and returns the
// first error. No thread begins before all of them exist.
Result<void> run_threads(const Device& device, unsigned threads,
                         const std::function<Result<void>(unsigned)>& work);

}  // namespace cubinet::bench
