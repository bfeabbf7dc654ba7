// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>

#include <array>

namespace cubinet {

// The constants of a model of memory traffic. Rates are bytes per microsecond; times are
// microseconds.
struct TrafficCosts {
  // The rates at which KV is read and multiplied, without competition for memory.
  struct Readers {
    double multiprocessor;  // all four quarters of an SM
    double warp;            // a warp that has a quarter to itself
  };
  using OfTiles = std::array<Readers, 3>;  // tiles of up to 16 rows, of 32, of more
  using OfRows = std::array<Readers, 4>;   // tiles of up to 32 rows, of 48, of 64, of more
  double memory_rate_per_multiprocessor;   // while all SMs read
  Readers wide;                            // 16-bit elements
  // 8-bit elements, which are converted. Rows of up to 128 bytes, of up to 256 and of more.
  std::array<OfTiles, 3> narrow;
  // 8-bit elements that warpgroups multiply from registers. Rows of up to 128 bytes and of more.
  std::array<OfRows, 2> from_registers;
  double latency;  // the shortest time in which the bytes of a ring arrive
  // The added share of the time if twice the best number of bytes is in flight, or more. For
  // `narrow` only.
  double crowding;
  double imbalance;  // added share of the time if some SMs have one CTA and others two
  double start;
  double reduction;            // a second kernel, after the first has drained
  double reduction_per_split;  // partial results to read back
  // The time of the last CTA to finish a tile, for each of the tile's first partial results but
  // one.
  double reduction_inside;
  double empty_block;  // to be scheduled, read a length and exit
  // The time from one wave to the next, if no other CTA's stream hides an end and a start.
  double turnover;
  // The time between two work items of a CTA: the end of the first and the start of the second,
  // which nothing hides. The second field is for kernels that multiply KV from registers.
  double next_item;
  std::array<double, 2> next_item_from_registers;  // rows of up to 128 and more bytes
  const char* source;
};

// Returns the time of the work in microseconds.
double traffic_time(const TrafficCosts& costs, const KernelWork& work);

}  // namespace cubinet
