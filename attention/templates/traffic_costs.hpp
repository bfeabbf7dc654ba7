// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>

namespace cubinet {

// The constants of a model of memory traffic. Rates are bytes a microsecond, times microseconds.
struct TrafficCosts {
  double memory_rate_per_multiprocessor;  // all of them reading
  double multiprocessor_rate;             // one of a few that read
  double block_rate;                      // one block alone, however deep its ring
  double narrow_block_rate;               // the same of elements of 8 bits, which it converts
  double latency;                         // a ring's bytes arrive in this time, at best
  double imbalance;  // of the time, where some multiprocessors have a block more than others
  double start;
  double reduction;            // a second kernel after the first has drained
  double reduction_per_split;  // partial results to read back
  double empty_block;          // to be scheduled, read a length, end
  double turnover;  // from one wave to the next, where no other block's stream covers an end and a start
  const char* source;
};

// Microseconds.
double traffic_time(const TrafficCosts& costs, const KernelWork& work);

}  // namespace cubinet
