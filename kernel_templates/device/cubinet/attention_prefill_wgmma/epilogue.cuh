// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of `attention_prefill_wgmma`: sinks, LSEs, partial results, and stores from registers.
#include <cubinet/attention/output.cuh>
#include <cubinet/attention/splits.cuh>
#include <cubinet/attention_prefill_wgmma/softmax.cuh>
#include <cubinet/elements.cuh>

namespace cubinet::attention_prefill_wgmma {

// Stores the rows of a thread. All lanes of the warp must call it.
class Epilogue {
 public:
  __device__ Epilogue(const AttentionPrefillParameters& p, const Tile& tile) : p_(p), tile_(tile) {}

  // Stores the normalised output and the LSEs, of complete rows or of a split.
  __device__ void store(const RowSoftmax& softmax, Output& output) const {
    const float scale = attention::output_scale(p_);
    const float scale_of_v = v_scale();
    const float sums[2] = {softmax.sum(0), softmax.sum(1)};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Row row = row_of(half);
      const float sum = sums[half];
      const bool any = sum != 0.0f;  // the sum is 0 if the row sees no token, and NaN if it saw one
      float factor = any ? reciprocal_approx(sum) : 0.0f;
      factor *= scale_of_v;  // partial results include it
      float lse = any ? softmax.maximum(half) + log2_approx(sum) - kWeightBits : negative_infinity();
      bool is_complete = row.exists;
      if (p_.split_tokens != 0) {
        const RowSplits splits = splits_of(row.token);
        const int split = tile_.first_step * kStep / p_.split_tokens;
        const bool has_split = row.exists && split >= splits.first && split <= splits.last;
        is_complete = has_split && splits.is_one();
        if (has_split && !is_complete) store_partial(output, half, factor, lse, split, row.token, row.head);
      }
      factor *= scale;
      if (p_.sinks != 0 && is_complete)
        add_sink(load_global_float(p_.sinks + 4 * row.head) * kLog2E, factor, lse);
      store_lse(row, lse * kLn2, is_complete);
      store_row<dtype_o>(output, half, ScaledRow{factor}, address_of(row), is_complete);
    }
  }

  // Stores the rows and LSEs of folded segments, with invariant numerics.
  __device__ void store(const FoldedSegments& folded, const Output& output) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Row row = row_of(half);
      const attention::RowEpilogue<false> epilogue(p_, row.head, v_scale());
      const attention::FinishedRow finished(epilogue, folded.rows[half]);
      store_lse(row, finished.lse, row.exists);
      store_row<dtype_o>(output, half, finished, address_of(row), row.exists);
    }
  }

 private:
  using RowSplits = attention::RowSplits;

  // All rows of a tile have one KV head.
  __device__ float v_scale() const {
    return attention::v_scale<kHasHeadScales>(p_, tile_.sequence, p_.group.quotient(tile_.head));
  }

  // A row of the tile.
  struct Row {
    int token;  // query token of the sequence
    int head;
    bool exists;
  };
  __device__ Row row_of(int half) const {
    const int row = thread_row() + 8 * half;
    const int token_of_tile = p_.tile_heads.quotient(row);
    const int token = tile_.q_token + token_of_tile;
    const int head = tile_.head + row - token_of_tile * p_.tile_heads.divisor;
    // A tile may have fewer tokens than rows, if its heads are no divisor of the rows.
    return {token, head, token < tile_.q_len && (token_of_tile + 1) * p_.tile_heads.divisor <= tile_size_q};
  }
  __device__ GlobalAddress address_of(const Row& row) const {
    const long long first =
        p_.q_offsets != 0 ? tile_.q_first * p_.o_token_stride : tile_.sequence * p_.o_batch_stride;
    return p_.o + sizeof(dtype_o) * (first + row.token * p_.o_token_stride + row.head * p_.o_head_stride);
  }
  // `lse` is a natural logarithm.
  __device__ void store_lse(const Row& row, float lse, bool exists) const {
    if (p_.lse != 0 && exists && threadIdx.x % 4 == 0)
      store_global_float(
          p_.lse + 4 * (static_cast<long long>(tile_.q_first + row.token) * p_.heads_q.divisor + row.head),
          lse);
  }

  // The factor that normalises a row.
  struct ScaledRow {
    float factor;
    __device__ float normalised(float value) const { return value * factor; }
  };

  __device__ RowSplits splits_of(int token) const {
    const int position = tile_.prefix() + token;
    const int begin = sliding_window ? maximum(position + 1 - p_.window, 0) : 0;
    return {p_, begin, kCausal ? minimum(position + 1, tile_.kv_len) : tile_.kv_len};
  }

  __device__ void store_partial(const Output& output, int half, float factor, float lse, int split, int token,
                                int head) const {
    const long long row = attention::partial_row(p_, split, tile_.sequence, token, head);
    if (threadIdx.x % 4 == 0) store_global_float(p_.partial_lse + 4 * row, lse);
    store_row<fp32>(output, half, ScaledRow{factor}, p_.partial_o + 4 * head_dim_v * row, true);
  }

  // Adds a sink, a logit without V, to the LSE and the factor of the output.
  __device__ static void add_sink(float sink, float& factor, float& lse) {
    if (sink == negative_infinity()) return;
    const float highest = fmaxf(lse, sink);
    const float tokens = exp2_approx(lse - highest);
    const float total = tokens + exp2_approx(sink - highest);
    factor *= tokens * reciprocal_approx(total);
    lse = highest + log2_approx(total);
  }

  // Stores one of the thread's two rows. With 16-bit V, two lanes exchange elements, so that the
  // four lanes of a row store 32 adjacent bytes. Transposed V has the even columns of 16 in one
  // tile and the odd columns in the next, so a lane has four adjacent columns.
  template <typename Element, class Finished>
  __device__ static void store_row(const Output& output, int half, const Finished& finished,
                                   GlobalAddress target, bool exists) {
    unsigned thread = threadIdx.x;
    // With invariant numerics and long steps of e4m3, the consumers' loop has no registers for the
    // offset of the lane.
    if constexpr (kInvariant || kTransposesV) keep_in_register(thread);
    const int lane = static_cast<int>(thread) % 4;
    if constexpr (kTransposesV) {
      if (!exists) return;
      target += lane * 4 * int{sizeof(Element)};
#pragma unroll
      for (int tile = 0; tile < kOutputTiles; tile += 2) {
        const float* const even = output[tile].r + 2 * half;
        const float* const odd = output[tile + 1].r + 2 * half;
        const float values[4] = {finished.normalised(even[0]), finished.normalised(odd[0]),
                                 finished.normalised(even[1]), finished.normalised(odd[1])};
        store_elements<Element>(target + tile * 8 * int{sizeof(Element)}, values);
      }
    } else if constexpr (is_same<Element, fp32>) {
      if (!exists) return;
#pragma unroll
      for (int tile = 0; tile < kOutputTiles; ++tile)
        store_global_8(target + tile * 32 + lane * 8,
                       make_uint2(__float_as_uint(finished.normalised(output[tile].r[2 * half])),
                                  __float_as_uint(finished.normalised(output[tile].r[2 * half + 1]))));
    } else {
      const bool odd = lane % 2 != 0;
      const GlobalAddress row = target;
      target += lane % 2 * 16 + lane / 2 * 8;
#pragma unroll
      for (int tile = 0; tile + 1 < kOutputTiles; tile += 2) {
        unsigned words[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
          words[i] = pack2<Element>(finished.normalised(output[tile + i].r[2 * half]),
                                    finished.normalised(output[tile + i].r[2 * half + 1]));
        const unsigned other = __shfl_xor_sync(kAllLanes, odd ? words[0] : words[1], 1);
        const uint2 pair = odd ? make_uint2(other, words[1]) : make_uint2(words[0], other);
        if (exists) store_global_8(target + tile * 16, pair);
      }
      if constexpr (kOutputTiles % 2 != 0) {  // the last tile has no partner
        const float* const last = output[kOutputTiles - 1].r + 2 * half;
        if (exists)
          store_global_4(row + (kOutputTiles - 1) * 16 + lane * 4,
                         pack2<Element>(finished.normalised(last[0]), finished.normalised(last[1])));
      }
    }
  }

  const AttentionPrefillParameters& p_;
  Tile tile_;
};

}  // namespace cubinet::attention_prefill_wgmma
