// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads Q for `attention_decode_swapped` as fp16. All rows of a tile are multiplied by the same
// power of two, so one number scales all logits.
#include <cubinet/attention/q.cuh>
#include <cubinet/attention_decode_swapped/shape.cuh>

namespace cubinet::attention_decode_swapped {

class TileQ {
  using Source = QRowsOf<Shape, head_dim_qk / 8>;

 public:
  // Starts to load the rows.
  __device__ TileQ(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                   int head_kv) {
    const Source source(p, rows, sequence, head_kv);
#pragma unroll
    for (int i = 0; i < Source::kIterations; ++i)
      bits_[i] = load_q_part<dtype_q>(source.source(Source::row(i)));
  }

  // Stores the rows and returns the scale of the logits. All threads must call it. Other threads
  // may read Q after the next barrier.
  __device__ float store(const SharedLayout& layout) const {
    float factor = 1.0f;
    float scale = 1.0f;
    if constexpr (is_same<dtype_q, bf16>) {
      // The elements are below 2^14, so rows up to 2^27 times smaller than the largest keep all of
      // their digits.
      factor = normalising_factor(largest_of_tile(layout), scale) * 4096.0f;
      scale /= 4096.0f;
    }
#pragma unroll
    for (int i = 0; i < Source::kIterations; ++i)
      store_q_part<dtype_q, SwizzledColumns<tile_size_q>>(bits_[i], factor, Source::row(i), Source::part(),
                                                          layout.q());
    return scale;
  }

 private:
  __device__ float largest_of_tile(const SharedLayout& layout) const {
    unsigned largest = 0;
#pragma unroll
    for (int i = 0; i < Source::kIterations; ++i)
      largest = maximum(largest, largest_of(bits_[i]));
    largest = __reduce_max_sync(kAllLanes, largest);
    const ThreadIndex index;
    if (index.lane == 0) store_shared_4(layout.exchange(0, index.warp), largest);
    __syncthreads();
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp)
      largest = maximum(largest, load_shared_4(layout.exchange(0, warp)));
    return __uint_as_float(largest << 16);
  }
  // Returns the largest magnitude of 8 elements of bf16 as bits, or 0 if it is infinite or NaN. The
  // result of such a row is not finite either; the other rows must not be scaled to 0.
  __device__ static unsigned largest_of(const uint4& bits) {
    constexpr unsigned kMagnitudes = 0x7fff7fffu;
    const unsigned pairs = larger_pair(larger_pair(bits.x & kMagnitudes, bits.y & kMagnitudes),
                                       larger_pair(bits.z & kMagnitudes, bits.w & kMagnitudes));
    const unsigned largest = maximum(pairs & 0xffffu, pairs >> 16);
    return largest < 0x7f80u ? largest : 0u;
  }
  __device__ static unsigned larger_pair(unsigned a, unsigned b) {
    unsigned larger;
    asm("max.u16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
    return larger;
  }

  uint4 bits_[Source::kIterations];
};

}  // namespace cubinet::attention_decode_swapped
