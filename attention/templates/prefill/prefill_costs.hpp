// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>

namespace cubinet {

// The constants of a model of products. Rates are operations (two for each multiply-add) of an SM
// per microsecond; times are microseconds.
struct ProductCosts {
  double rate;                 // tiles of at least 128 rows, or several CTAs
  double warpgroup_rate;       // KvReader::warpgroups
  double narrow_rate;          // the same with elements of 8 bits
  double small_rate;           // smaller tiles, whose K and V are read more often
  double cluster_gain;         // the rate of clusters, by that of other tiles
  double narrow_cluster_gain;  // the same with elements of 8 bits
  double one_block;            // share of the rate that one CTA of four warps reaches alone
  double start;
  double tile;          // start and end of a tile
  double combine;       // start of the kernel that combines partial results
  double partial_rate;  // bytes of partial results of the device per microsecond
  double memory_rate;   // bytes of KV that an SM reads per microsecond while all read
  const char* source;
};

// Returns the parts of the time of the work in microseconds. The longest tiles are first, so the
// SMs end at about the same time unless one tile takes longer than its share, or the tiles are too
// few to divide equally.
CostTerms product_terms(const ProductCosts& costs, const KernelWork& work);

}  // namespace cubinet
