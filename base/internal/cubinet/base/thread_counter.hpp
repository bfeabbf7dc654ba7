// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cubinet {

// A counter for paths that many threads take at once. Up to kCells threads add without writing a
// common cache line; more threads share cells. Thread-safe. Reading adds the cells up, so it may
// miss additions that are made meanwhile.
class ThreadCounter {
 public:
  static constexpr std::size_t kCells = 64;

  void add(std::uint64_t count = 1) { cells_[cell()].value.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t sum() const;
  // Returns the index of the calling thread's cell, in every counter.
  static std::size_t cell();

 private:
  // Two lines, because processors fetch pairs of lines.
  struct alignas(128) Cell {
    std::atomic<std::uint64_t> value{0};
  };
  std::array<Cell, kCells> cells_;
};

}  // namespace cubinet
