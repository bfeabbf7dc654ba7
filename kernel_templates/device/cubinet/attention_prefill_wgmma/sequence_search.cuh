// SPDX-License-Identifier: Apache-2.0
#pragma once
// A search for the sequences that have tiles.
#include <cubinet/math.cuh>

namespace cubinet::attention_prefill_wgmma {

// A search for sequences. All lanes of a warp must call each function together.
class SequenceSearch {
 public:
  __device__ void restart(int first_sequence) {
    chunk_ = first_sequence;
    rank_ = 0;
  }
  // Returns the sequence before `end` with `rank` matching ones before it, or a negative number if
  // there are fewer. Ranks must ascend. `matches` returns whether a sequence matches, for the lane
  // that checks it. A lane's loads for kAtOnce sequences are in flight together.
  template <int kAtOnce, class Matches>
  __device__ int find(int rank, int end, Matches matches) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
    while (true) {
      bool own[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        own[i] = matches(chunk_ + 32 * i + lane);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const unsigned matching = __ballot_sync(kAllLanes, own[i]);
        if (rank - rank_ < __popc(matching)) {
          const int before = __popc(matching & ((1u << lane) - 1));
          const unsigned chosen = __ballot_sync(kAllLanes, own[i] && before == rank - rank_);
          return chunk_ + __ffs(static_cast<int>(chosen)) - 1;
        }
        rank_ += __popc(matching);
        chunk_ += 32;
        if (chunk_ >= end) return -1;
      }
    }
  }

 private:
  int chunk_ = 0;  // the first of 32 sequences, with `rank_` matching ones before
  int rank_ = 0;
};

}  // namespace cubinet::attention_prefill_wgmma
