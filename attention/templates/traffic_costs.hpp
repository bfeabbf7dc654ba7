// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>

#include <array>

namespace cubinet {

// The constants of a model of memory traffic. Rates are bytes a microsecond, times microseconds.
struct TrafficCosts {
  // What takes KV in on its own, as fast as it multiplies.
  struct Readers {
    double multiprocessor;  // its four quarters together
    double warp;            // one that has a quarter to itself
  };
  using OfTiles = std::array<Readers, 3>;  // of up to 16 rows, of 32, of more
  using OfRows = std::array<Readers, 4>;   // of up to 32 rows, of 48, of 64, of more
  double memory_rate_per_multiprocessor;   // all of them reading
  Readers wide;                            // elements of 16 bits
  std::array<OfTiles, 3> narrow;  // of 8, which are converted: rows of up to 128 and 256 bytes, and longer
  std::array<OfRows, 2>
      from_registers;  // of 8 that warpgroups multiply from registers: rows of up to 128 bytes, longer
  double latency;      // a ring's bytes arrive in this time, at best
  double crowding;     // of the time, for twice what is best under way and more; of `narrow` alone
  double imbalance;    // of the time, where one multiprocessor has a block and one two
  double start;
  double reduction;            // a second kernel after the first has drained
  double reduction_per_split;  // partial results to read back
  double reduction_inside;     // by the block that ends last, of each of a tile's first pieces but one
  double empty_block;          // to be scheduled, read a length, end
  double turnover;  // from one wave to the next, where no other block's stream covers an end and a start
  // A block's second tile: the first one's end and its own start, which nothing covers; and where a
  // warpgroup multiplies from registers.
  double piece;
  std::array<double, 2> piece_from_registers;  // rows of up to 128 bytes, longer
  const char* source;
};

// Microseconds.
double traffic_time(const TrafficCosts& costs, const KernelWork& work);

}  // namespace cubinet
