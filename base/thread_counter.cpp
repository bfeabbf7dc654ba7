// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/thread_counter.hpp>

#include <numeric>

namespace cubinet {
namespace {

std::atomic<std::size_t> threads_seen{0};

}  // namespace

std::size_t ThreadCounter::cell() {
  // Without a dynamic initialiser, so that a read costs no guard.
  thread_local std::size_t number = SIZE_MAX;
  if (number == SIZE_MAX) number = threads_seen.fetch_add(1, std::memory_order_relaxed) % kCells;
  return number;
}

std::uint64_t ThreadCounter::sum() const {
  return std::accumulate(cells_.begin(), cells_.end(), std::uint64_t{0},
                         [](std::uint64_t total, const Cell& cell) {
                           return total + cell.value.load(std::memory_order_relaxed);
                         });
}

}  // namespace cubinet
