// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cubinet {

// A way to run the main kernel, as far as its time depends on it. Counts of blocks may pass 2^63 where a grid
// that CUDA would refuse is still compared with others.
struct DecodeLaunch {
  double blocks = 0;        // that have work
  double empty_blocks = 0;  // that find none: splits which a short sequence does not use
  double bytes = 0;         // of K and V, all blocks together
  double largest_block_bytes = 0;
  double ring_bytes = 0;  // what one block keeps under way
  int blocks_per_multiprocessor = 1;
  int multiprocessors = 1;
  int splits = 1;
};

// Microseconds, from a model of memory traffic fitted to measurements on an H200 (docs/kernels.md). On
// another device the ratios hold as far as its memory is as fast for its multiprocessors; the choice between
// splits needs no more.
double estimate_microseconds(const DecodeLaunch& launch);

}  // namespace cubinet
