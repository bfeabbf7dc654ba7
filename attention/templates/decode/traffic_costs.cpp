// SPDX-License-Identifier: Apache-2.0
#include "traffic_costs.hpp"

#include <algorithm>
#include <cmath>

namespace cubinet {
namespace {

// The most partial results each of which costs the CTA that combines them time. It reads further
// ones in rounds of several.
constexpr double kFeltPartials = 3;

// Returns the time of work that takes `a` in one respect and `b` in another at once. If they are
// close, both have an effect: about a 6-norm, at a small part of its price.
double combined(double a, double b) {
  const double longer = std::max(a, b);
  const double ratio = std::min(a, b) / longer;
  const double cube = ratio * ratio * ratio;
  return longer * (1 + 0.1225 * cube * cube);
}

// Returns the constants of a kernel of latent attention, or null for another kernel.
const TrafficCosts::Latent* latent_of(const TrafficCosts& costs, const KernelWork& work) {
  const std::size_t type = work.element_bits > 8 ? 0 : 1;
  if (work.reader == KvReader::latent) return &costs.latent[type];
  return work.reader == KvReader::latent_narrow ? &costs.latent_narrow[type] : nullptr;
}

const TrafficCosts::Readers& readers_of(const TrafficCosts& costs, const KernelWork& work) {
  const std::uint32_t rows = work.tile_size_q;
  const std::size_t tile = rows <= 16 ? 0 : rows <= 32 ? 1 : 2;
  if (const TrafficCosts::Latent* latent = latent_of(costs, work)) return latent->tiles[tile];
  const std::uint32_t elements = work.row_bytes * 8 / work.element_bits;
  const std::size_t length = elements <= 128 ? 0 : elements <= 256 ? 1 : 2;
  if (work.reader == KvReader::registers) {
    return costs.from_registers[std::min<std::size_t>(length, 1)][rows <= 32   ? 0
                                                                  : rows <= 48 ? 1
                                                                  : rows <= 64 ? 2
                                                                               : 3];
  }
  if (work.reader == KvReader::warpgroups) return costs.warpgroups[length];
  return (work.element_bits > 8 ? costs.wide : costs.narrow)[length][tile];
}

// Returns the time of a CTA that has an SM to itself.
double alone(const TrafficCosts& costs, const KernelWork& work, const TrafficCosts::Readers& readers,
             double bytes) {
  return costs.latency + bytes / std::min({readers.multiprocessor, work.warps * readers.warp,
                                           work.ring_bytes / costs.latency});
}

// Returns the time of CTAs that all run at once. The busiest SM has `on_busiest` of them. Its warps
// are spread over four quarters: for three CTAs of two warps each, two quarters have two warps and
// the others wait for them.
double wave(const TrafficCosts& costs, const KernelWork& work, double blocks, double on_busiest,
            double block_bytes) {
  if (blocks <= 0 || block_bytes <= 0) return 0;
  constexpr double quarters = 4;
  const TrafficCosts::Readers& readers = readers_of(costs, work);
  const double warps = std::ceil(on_busiest * work.warps / quarters);
  const double quarter =
      warps * block_bytes / work.warps / std::min(readers.multiprocessor / quarters, warps * readers.warp);
  const double memory = blocks * block_bytes / (work.multiprocessors * costs.memory_rate_per_multiprocessor);
  return combined(memory, std::max(quarter, alone(costs, work, readers, block_bytes)));
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

double read_time(const TrafficCosts& costs, const KernelWork& work, double slots) {
  if (work.blocks <= 0) return 0;
  const double full_waves = std::floor(work.blocks / slots);
  const double rest = work.blocks - full_waves * slots;
  const double block_bytes = work.bytes / work.blocks;
  double time = 0;
  if (full_waves > 0)
    time = full_waves * wave(costs, work, slots, work.blocks_per_multiprocessor, block_bytes);
  if (rest > 0) time += last_wave(costs, work, full_waves == 0, rest, block_bytes);
  if (work.largest_block_bytes <= 0) return time;
  return std::max(time, alone(costs, work, readers_of(costs, work), work.largest_block_bytes));
}

// Returns the time of the kernel that combines partial results. An SM holds eight of its CTAs of
// 128 threads. Those of more than 256 columns have 256 threads, which is not counted.
double time_of_reduction(const TrafficCosts& costs, const KernelWork& work) {
  constexpr double held = 8;
  const double further_waves = std::max(work.combine_blocks / (held * work.multiprocessors) - 1, 0.0);
  return costs.reduction + costs.reduction_per_split * work.splits +
         further_waves * (costs.reduction_wave + costs.reduction_length * work.sequences);
}

}  // namespace

CostTerms traffic_terms(const TrafficCosts& costs, const KernelWork& work) {
  const double slots = static_cast<double>(work.multiprocessors) * work.blocks_per_multiprocessor;
  CostTerms terms;
  terms.start = costs.start + costs.empty_block * work.empty_blocks / slots;
  terms.read = read_time(costs, work, slots);
  const TrafficCosts::Latent* const latent = latent_of(costs, work);
  const double next_item = latent != nullptr ? latent->next_item : costs.next_item;
  const double turnover = latent != nullptr ? latent->turnover : costs.turnover;
  const double items = std::max(work.all_work_items / work.multiprocessors, work.work_items);
  terms.items = readers_of(costs, work).item * work.warps * items + next_item * (work.work_items - 1);
  if (work.blocks_per_multiprocessor == 1)
    terms.turnover = turnover * std::max(std::ceil(work.blocks / slots) - 1, 0.0);
  if (work.splits > 1) {
    terms.combine = work.combines_apart
                        ? time_of_reduction(costs, work)
                        : costs.reduction_inside * std::min(work.splits - 1.0, kFeltPartials) +
                              costs.combine_round * work.combine_rounds;
    terms.combine += 2 * work.partial_bytes / costs.partial_rate;
  }
  return terms;
}

}  // namespace cubinet
