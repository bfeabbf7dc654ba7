// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace cubinet::cli {

struct ParallelHooks {
  std::function<bool()> cancelled;  // asked before each piece of work; what is begun is finished
  std::function<void()> tick;       // called by the waiting thread about ten times a second
};

// Calls work(i) for i from 0 to count-1, in ascending order, from at most `jobs` threads. Returns when all is
// done or nothing more is begun. An exception from `work` stops the rest and is thrown again here.
void run_parallel(std::size_t count, unsigned jobs, const std::function<void(std::size_t)>& work,
                  const ParallelHooks& hooks = {});

// What one NVRTC compilation is counted as: 40 to 100 MiB were measured for our templates (NVRTC 13.0), twice
// as much for sources that include CUDA's heaviest headers.
inline constexpr std::uint64_t kBytesPerCompilation = std::uint64_t{256} << 20;

// How many compilations fit into `bytes`: `jobs` at most, one at least.
unsigned jobs_within(unsigned jobs, std::uint64_t bytes);

}  // namespace cubinet::cli
