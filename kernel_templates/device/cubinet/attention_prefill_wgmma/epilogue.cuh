// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of `attention_prefill_wgmma`: sinks, LSEs, and stores from registers.
#include <cubinet/attention_prefill_wgmma/softmax.cuh>
#include <cubinet/elements.cuh>

namespace cubinet::attention_prefill_wgmma {

// Stores the rows of a thread. All lanes of the warp must call it.
class Epilogue {
 public:
  __device__ Epilogue(const AttentionPrefillParameters& p, const Tile& tile) : p_(p), tile_(tile) {}

  // Stores the normalised output and the LSEs.
  __device__ void store(const RowSoftmax& softmax, Output& output) const {
    const float scale =
        p_.output_scale_address != 0 ? load_global_float(p_.output_scale_address) : p_.output_scale;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = thread_row() + 8 * half;
      const int token_of_tile = p_.tile_heads.quotient(row);
      const int token = tile_.q_token + token_of_tile;
      const int head = tile_.head + row - token_of_tile * p_.tile_heads.divisor;
      const bool exists = token < tile_.q_len && token_of_tile < tile_size_q / p_.tile_heads.divisor;

      const float sum = softmax.sum(half);
      const bool any = sum != 0.0f;  // the sum is 0 if the row sees no token, and NaN if it saw one
      float factor = any ? scale * reciprocal_approx(sum) : 0.0f;
      float lse = any ? softmax.maxima[half] + log2_approx(sum) : negative_infinity();
      if (p_.sinks != 0 && exists) add_sink(load_global_float(p_.sinks + 4 * head) * kLog2E, factor, lse);
      if (p_.lse != 0 && exists && threadIdx.x % 4 == 0)
        store_global_float(
            p_.lse + 4 * (static_cast<long long>(tile_.q_first + token) * p_.heads_q.divisor + head),
            lse * kLn2);
      const long long first =
          p_.q_offsets != 0 ? tile_.q_first * p_.o_token_stride : tile_.sequence * p_.o_batch_stride;
      store_row<dtype_o>(
          output, half, factor,
          p_.o + sizeof(dtype_o) * (first + token * p_.o_token_stride + head * p_.o_head_stride), exists);
    }
  }

 private:
  // Adds a sink, a logit without V, to the LSE and the factor of the output.
  __device__ static void add_sink(float sink, float& factor, float& lse) {
    if (sink == negative_infinity()) return;
    const float highest = fmaxf(lse, sink);
    const float tokens = exp2_approx(lse - highest);
    const float total = tokens + exp2_approx(sink - highest);
    factor *= tokens * reciprocal_approx(total);
    lse = highest + log2_approx(total);
  }

  // Stores one of the thread's two rows. Two lanes exchange elements, so that the four lanes of a
  // row store 32 adjacent bytes.
  template <typename Element>
  __device__ static void store_row(const Output& output, int half, float factor, GlobalAddress target,
                                   bool exists) {
    const int lane = static_cast<int>(threadIdx.x) % 4;
    if constexpr (is_same<Element, fp32>) {
      if (!exists) return;
#pragma unroll
      for (int tile = 0; tile < kOutputTiles; ++tile)
        store_global_8(target + tile * 32 + lane * 8,
                       make_uint2(__float_as_uint(output[tile].r[2 * half] * factor),
                                  __float_as_uint(output[tile].r[2 * half + 1] * factor)));
    } else {
      const bool odd = lane % 2 != 0;
      target += lane % 2 * 16 + lane / 2 * 8;
#pragma unroll
      for (int tile = 0; tile < kOutputTiles; tile += 2) {
        unsigned words[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
          words[i] = pack2<Element>(output[tile + i].r[2 * half] * factor,
                                    output[tile + i].r[2 * half + 1] * factor);
        const unsigned other = __shfl_xor_sync(kAllLanes, odd ? words[0] : words[1], 1);
        const uint2 pair = odd ? make_uint2(other, words[1]) : make_uint2(words[0], other);
        if (exists) store_global_8(target + tile * 16, pair);
      }
    }
  }

  const AttentionPrefillParameters& p_;
  Tile tile_;
};

}  // namespace cubinet::attention_prefill_wgmma
