// SPDX-License-Identifier: Apache-2.0
#include "traffic_costs.hpp"

#include <algorithm>
#include <cmath>

namespace cubinet {
namespace {

// The bytes in flight that keep an SM's share of the memory busy.
constexpr double kBestUnderWay = 64.0 * 1024;
// The most partial results whose combination costs time. One CTA reads the ones after them while
// others still work.
constexpr double kFeltPartials = 3;

// Returns the time of work that takes `a` in one respect and `b` in another at once. If they are
// close, both have an effect.
double combined(double a, double b) {
  const double longer = std::max(a, b);
  return longer * std::pow(1 + std::pow(std::min(a, b) / longer, 6), 1.0 / 6);
}

std::size_t length_class(const KernelWork& work) {
  return work.row_bytes <= 128 ? 0 : 1;
}

double next_item_of(const TrafficCosts& costs, const KernelWork& work) {
  return work.multiplies_from_registers ? costs.next_item_from_registers[length_class(work)]
                                        : costs.next_item;
}

const TrafficCosts::Readers& readers_of(const TrafficCosts& costs, const KernelWork& work) {
  if (work.element_bits > 8) return costs.wide;
  const std::uint32_t rows = work.tile_size_q;
  if (work.multiplies_from_registers)
    return costs.from_registers[length_class(work)][rows <= 32 ? 0 : rows <= 48 ? 1 : rows <= 64 ? 2 : 3];
  const TrafficCosts::OfTiles& of_tiles = costs.narrow[work.row_bytes <= 128   ? 0
                                                       : work.row_bytes <= 256 ? 1
                                                                               : 2];
  return of_tiles[rows <= 16 ? 0 : rows <= 32 ? 1 : 2];
}

// Returns the time of a CTA that has an SM to itself.
double alone(const TrafficCosts& costs, const KernelWork& work, double bytes) {
  const auto [multiprocessor_rate, warp_rate] = readers_of(costs, work);
  return bytes / std::min({multiprocessor_rate, work.warps * warp_rate, work.ring_bytes / costs.latency});
}

// Returns the time of CTAs that all run at once. The busiest SM has `on_busiest` of them. Its warps
// are spread over four quarters: for three CTAs of two warps each, two quarters have two warps and
// the others wait for them.
double wave(const TrafficCosts& costs, const KernelWork& work, double blocks, double on_busiest,
            double block_bytes) {
  if (blocks <= 0 || block_bytes <= 0) return 0;
  constexpr double quarters = 4;
  const auto [multiprocessor_rate, warp_rate] = readers_of(costs, work);
  const double warps = std::ceil(on_busiest * work.warps / quarters);
  const double quarter =
      warps * block_bytes / work.warps / std::min(multiprocessor_rate / quarters, warps * warp_rate);
  const double memory = blocks * block_bytes / (work.multiprocessors * costs.memory_rate_per_multiprocessor);
  const double time = combined(memory, std::max(quarter, alone(costs, work, block_bytes)));
  if (work.element_bits > 8 || work.multiplies_from_registers) return time;
  const double under_way =
      std::min<double>(blocks / work.multiprocessors, work.blocks_per_multiprocessor) * work.ring_bytes;
  return time * (1 + costs.crowding * std::clamp(under_way / kBestUnderWay - 1, 0.0, 1.0));
}

// Returns the time of the last wave. A first wave is spread over the SMs. In a later wave, CTAs
// that end together make room for their successors on the same SM.
double last_wave(const TrafficCosts& costs, const KernelWork& work, bool first, double blocks,
                 double block_bytes) {
  if (!first)
    return wave(costs, work, blocks, std::min<double>(blocks, work.blocks_per_multiprocessor), block_bytes);
  const double of_each = std::floor(blocks / work.multiprocessors);
  const double with_one_more = blocks / work.multiprocessors - of_each;
  const double unevenness = with_one_more * (1 - with_one_more) / std::max(of_each, 1.0);
  return wave(costs, work, blocks, std::ceil(blocks / work.multiprocessors), block_bytes) *
         (1 + (of_each > 0 ? costs.imbalance * unevenness : 0));
}

}  // namespace

double traffic_time(const TrafficCosts& costs, const KernelWork& work) {
  const double slots = static_cast<double>(work.multiprocessors) * work.blocks_per_multiprocessor;
  const double full_waves = std::floor(work.blocks / slots);
  const double rest = std::fmod(work.blocks, slots);
  const double block_bytes = work.blocks > 0 ? work.bytes / work.blocks : 0;

  double time = full_waves * wave(costs, work, slots, work.blocks_per_multiprocessor, block_bytes);
  if (rest > 0) time += last_wave(costs, work, full_waves == 0, rest, block_bytes);
  if (work.largest_block_bytes > 0) time = std::max(time, alone(costs, work, work.largest_block_bytes));
  time += costs.start + costs.empty_block * work.empty_blocks / slots;
  // An end and a start cost more if no other CTA's stream hides them.
  const double next_item = next_item_of(costs, work);
  time += (work.blocks_per_multiprocessor == 1 ? costs.turnover : next_item) *
          std::max(std::ceil(work.blocks / slots) - 1, 0.0);
  time += next_item * (work.work_items - 1);
  if (work.splits > 1) {
    time += work.combines_apart ? costs.reduction + costs.reduction_per_split * work.splits
                                : costs.reduction_inside * std::min(work.splits - 1.0, kFeltPartials);
  }
  return time;
}

}  // namespace cubinet
