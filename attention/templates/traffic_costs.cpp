// SPDX-License-Identifier: Apache-2.0
#include "traffic_costs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cubinet {
namespace {

// Two limits of one flow: near each other both are felt.
double combined(double a, double b) {
  return a * b / std::pow(std::pow(a, 6) + std::pow(b, 6), 1.0 / 6);
}

const TrafficCosts::Readers& readers_of(const TrafficCosts& costs, const KernelWork& work) {
  if (work.element_bits > 8) return costs.wide;
  return costs.narrow[work.row_bytes <= 128 ? 0 : work.row_bytes <= 256 ? 1 : 2];
}

// Blocks that all run at once on so many multiprocessors.
double wave(const TrafficCosts& costs, const KernelWork& work, double blocks, double bytes,
            double multiprocessors) {
  if (bytes <= 0) return 0;
  const double memory = work.multiprocessors * costs.memory_rate_per_multiprocessor;
  const auto [multiprocessor_rate, block_rate] = readers_of(costs, work);
  const double readers = std::min(multiprocessors * multiprocessor_rate,
                                  blocks * std::min(block_rate, work.ring_bytes / costs.latency));
  return bytes / combined(memory, readers);
}

// A first wave is spread over the multiprocessors; in a later one, blocks that end together make room for
// their successors on the same one.
double last_wave(const TrafficCosts& costs, const KernelWork& work, bool first, std::int64_t blocks,
                 double block_bytes) {
  const std::int64_t multiprocessors = work.multiprocessors;
  const auto divide_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const double count = static_cast<double>(blocks);
  const double bytes = block_bytes * count;
  if (!first) {
    const std::int64_t busy = divide_up(blocks, work.blocks_per_multiprocessor);
    return wave(costs, work, count, bytes, static_cast<double>(busy));
  }
  const double unevenness =
      static_cast<double>(divide_up(blocks, multiprocessors) * multiprocessors) / count - 1;
  return wave(costs, work, count, bytes, static_cast<double>(std::min(blocks, multiprocessors))) *
         (1 + costs.imbalance * std::min(unevenness, 1.0));
}

}  // namespace

double traffic_time(const TrafficCosts& costs, const KernelWork& work) {
  const double slots = static_cast<double>(work.multiprocessors) * work.blocks_per_multiprocessor;
  const double full_waves = std::floor(work.blocks / slots);
  const auto rest = static_cast<std::int64_t>(std::fmod(work.blocks, slots));
  const double block_bytes = work.blocks > 0 ? work.bytes / work.blocks : 0;

  double time = full_waves * wave(costs, work, slots, block_bytes * slots, work.multiprocessors);
  if (rest > 0) time += last_wave(costs, work, full_waves == 0, rest, block_bytes);
  time = std::max(time, wave(costs, work, 1, work.largest_block_bytes, 1));
  time += costs.start + costs.empty_block * work.empty_blocks / slots;
  if (work.blocks_per_multiprocessor == 1)
    time += costs.turnover * std::max(std::ceil(work.blocks / slots) - 1, 0.0);
  time += costs.piece * (work.pieces - 1);
  if (work.splits > 1) time += costs.reduction + costs.reduction_per_split * work.splits;
  return time;
}

}  // namespace cubinet
