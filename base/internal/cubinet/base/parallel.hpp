// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace cubinet {

struct ParallelHooks {
  // Called before each work unit until it returns true, never twice at once.
  std::function<bool()> cancelled;
  std::function<void()> tick;  // called by the waiting thread about ten times per second
};

// Calls work(i) for i from 0 to count-1, in ascending order, from at most `threads` threads (0: one
// per core). Returns when all calls have ended or, after cancellation, when the started ones have.
// An exception from `work` or a hook stops the rest and is rethrown here.
void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work,
                  const ParallelHooks& hooks = {});

}  // namespace cubinet
