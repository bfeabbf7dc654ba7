// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>

#include <array>

namespace cubinet {

// The constants of a model of memory traffic. Rates are bytes per microsecond; times are
// microseconds.
struct TrafficCosts {
  // The rates at which KV is read and multiplied, without competition for memory, and the time of a
  // work item.
  struct Readers {
    double multiprocessor;  // rate of all four quarters of an SM
    double warp;            // rate of a warp that has a quarter to itself
    // The time of the start and end of a work item for each warp of its CTA. CTAs of an SM do not
    // hide it from each other.
    double item;
  };
  using OfTiles = std::array<Readers, 3>;  // tiles of up to 16 rows, of 32, of more
  using OfRows = std::array<Readers, 4>;   // tiles of up to 32 rows, of 48, of 64, of more
  double memory_rate_per_multiprocessor;   // while all SMs read
  // 16-bit and 8-bit elements. Rows of up to 128 elements, of up to 256 and of more.
  std::array<OfTiles, 3> wide;
  std::array<OfTiles, 3> narrow;
  // 16-bit elements that attention_decode_wgmma multiplies.
  std::array<Readers, 3> warpgroups;
  // 8-bit elements that warpgroups multiply from registers. Rows of up to 128 elements and of more.
  std::array<OfRows, 2> from_registers;
  // attention_latent and attention_latent_narrow, with 16-bit and 8-bit elements. The second has
  // tiles of one size.
  struct Latent {
    OfTiles tiles;
    double turnover;  // as below
    double next_item;
  };
  std::array<Latent, 2> latent;
  std::array<Latent, 2> latent_narrow;
  double latency;    // the shortest time in which the bytes of a ring arrive
  double imbalance;  // added share of the time if some SMs have one CTA and others two
  double start;
  double reduction;            // a second kernel, after the first has drained
  double reduction_per_split;  // partial results to read back
  // Each further wave of CTAs of that kernel, and each length that the wave reads.
  double reduction_wave;
  double reduction_length;
  // The time of the last CTA to finish a tile, for each of the tile's first partial results but
  // one.
  double reduction_inside;
  double combine_round;  // the loads of a round (KernelWork::combine_rounds)
  double partial_rate;   // of the device, to write partial results and to read them
  double empty_block;    // to be scheduled, read a length and exit
  double turnover;       // the time from one wave to the next, if no other CTA hides it
  double next_item;      // the time between two work items of a CTA
  const char* source;
};

// Returns the parts of the time of the work in microseconds.
CostTerms traffic_terms(const TrafficCosts& costs, const KernelWork& work);

}  // namespace cubinet
