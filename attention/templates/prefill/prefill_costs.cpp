// SPDX-License-Identifier: Apache-2.0
#include "prefill_costs.hpp"

#include <algorithm>
#include <cmath>

namespace cubinet {

CostTerms product_terms(const ProductCosts& costs, const KernelWork& work) {
  constexpr std::uint32_t kTallTile = 128;
  constexpr double kWarpsOfFullRate = 8;
  CostTerms terms;
  terms.start = costs.start;
  if (work.blocks <= 0) return terms;
  const double of_warpgroups = work.element_bits == 8 ? costs.narrow_rate : costs.warpgroup_rate;
  const double of_cluster = work.element_bits == 8 ? costs.narrow_cluster_gain : costs.cluster_gain;
  const double gain = work.cluster > 1 ? of_cluster : 1.0;
  const double rate = work.reader == KvReader::warpgroups ? of_warpgroups
                      : work.tile_size_q < kTallTile      ? costs.small_rate
                                                          : costs.rate;
  const double sms = work.multiprocessors;
  const double on_busiest =
      std::min<double>(std::ceil(work.blocks / sms), std::max(work.blocks_per_multiprocessor, 1U));
  const double warps = std::min(on_busiest * work.warps, kWarpsOfFullRate) / kWarpsOfFullRate;
  const double reached = gain * rate * (costs.one_block + (1 - costs.one_block) * warps);
  const double tiles_of_busiest = std::ceil(work.blocks / sms);
  const double all = work.operations / std::min(sms, work.blocks) / reached;
  const double longest = work.largest_block_operations * on_busiest / reached;
  const double equal = work.smallest_block_operations * tiles_of_busiest / reached;
  const double memory = work.bytes / (sms * costs.memory_rate);
  terms.read = std::max({all, longest, equal, memory});
  terms.items = costs.tile * tiles_of_busiest / on_busiest;
  // The SMs share the work equally, or wait for one of them.
  const double busiest = work.busiest_operations / reached;
  const double its_items = costs.tile * work.work_items;
  if (work.busiest_operations > 0 && busiest + its_items > terms.read + terms.items) {
    terms.read = busiest;
    terms.items = its_items;
  }
  if (work.splits > 1) terms.combine = costs.combine + 2 * work.partial_bytes / costs.partial_rate;
  return terms;
}

}  // namespace cubinet
