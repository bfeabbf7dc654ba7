// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace cubinet {

struct ParallelHooks {
  std::function<bool()> cancelled;  // asked before each piece of work, one call at a time
  std::function<void()> tick;       // called by the waiting thread about ten times a second
};

// Calls work(i) for i from 0 to count-1, in ascending order, from at most `threads` threads (0: one a core).
// Returns when all is done or nothing more is begun. An exception from `work` stops the rest and is thrown
// again here.
void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work,
                  const ParallelHooks& hooks = {});

}  // namespace cubinet
