// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of `attention_latent_narrow`: O^T += V^T P^T, whose rows are columns of V.
#include <cubinet/attention/partials.cuh>
#include <cubinet/attention_latent_narrow/layout.cuh>
#include <cubinet/mma.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_latent_narrow {

using Epilogue = RowEpilogue<kConvertsKv>;
using PartialSlots = PartialSlotsOf<Shape>;

// Stores four adjacent elements times `factor`.
template <typename Element>
__device__ inline void store_four_elements(GlobalAddress address, const float4& values, float factor) {
  const float scaled[4] = {values.x * factor, values.y * factor, values.z * factor, values.w * factor};
  if constexpr (is_same<Element, fp32>) {
    store_global_16(address, Vector16<fp32>::pack(scaled));
  } else if constexpr (is_same<Element, e4m3>) {
    store_global_4(address, pack4_e4m3(scaled));
  } else {
    store_global_8(address,
                   make_uint2(pack2<Element>(scaled[0], scaled[1]), pack2<Element>(scaled[2], scaled[3])));
  }
}

// The two warpgroups that compute the output. Each warp has 64 columns of all rows. Of each eight
// rows a lane has two. Of each 16 columns it also has two: adjacent ones with 8-bit KV, and two
// that are eight apart with 16-bit KV, which ldmatrix transposes.
class OutputWarpgroups {
 public:
  __device__ OutputWarpgroups(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : p_(p), layout_(layout), warp_((threadIdx.x - kFirstOutputThread) / 32), lane_(threadIdx.x % 32) {}

  __device__ void process(const SentItem& sent) {
    const WorkItem& item = sent.item;
    const PackedRows rows = WorkDivision::rows_of(p_, sent.item);
    const ItemTokens tokens(p_, item, rows);
    const int steps = tokens.steps();
    Output output = {};
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      mbarrier_wait(layout_.weights_full(buffer_.index), buffer_.phase);
      correct(output);
      int slots[kParts];
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        slots[part] = state_.index;
        state_.advance();
      }
      const SharedAddress v = block_of(slots);
#pragma unroll
      for (int k = 0; k < kSlice / 16; ++k) {
        unsigned weights[kTilesN][2];
        load_weights(weights, k);
#pragma unroll
        for (int pair = 0; pair < kTilesM / 2; ++pair) {
          FragmentA columns[2];
          load_columns(columns, v, k, pair);
#pragma unroll
          for (int m = 0; m < 2; ++m) {
#pragma unroll
            for (int n = 0; n < kTilesN; ++n)
              mma_16x8x16<Product>(output[2 * pair + m][n], columns[m], weights[n][0], weights[n][1]);
          }
        }
      }
      __syncwarp();
      if (lane_ == 0) {
#pragma unroll
        for (int part = 0; part < kParts; ++part)
          mbarrier_arrive(layout_.kv_empty(slots[part]));
        mbarrier_arrive(layout_.weights_empty(buffer_.index));
      }
      buffer_.advance();
    }
    mbarrier_wait(layout_.weights_full(buffer_.index), buffer_.phase);
    store(sent, rows, output);
    __syncwarp();
    if (lane_ == 0) mbarrier_arrive(layout_.weights_empty(buffer_.index));
    buffer_.advance();
    if (p_.counters != 0 && !item.is_whole_tile()) combine_if_last(sent, rows);
  }

 private:
  static constexpr int kTilesM = kWarpColumns / 16;
  using Output = FragmentD[kTilesM][kTilesN];

  // Returns the address of the block that holds the columns of the warp.
  __device__ SharedAddress block_of(const int (&slots)[kParts]) const {
    const int block = warp_ * kWarpColumns * kElementBytes / kBlockRowBytes;
    int slot = slots[0];
#pragma unroll
    for (int part = 1; part < kParts; ++part)
      slot = block >= part * kBlocksOfPart ? slots[part] : slot;
    return layout_.kv(slot) + block % kBlocksOfPart * kBlockBytes;
  }

  // Corrects the accumulators. After a few steps the maximum is stable and no correction is needed.
  __device__ void correct(Output& output) const {
    float2 factors[kTilesN];
    bool any = false;
#pragma unroll
    for (int n = 0; n < kTilesN; ++n) {
      factors[n] = load_shared_floats(layout_.factor(buffer_.index, n * 8 + lane_ % 4 * 2));
      any = any || factors[n].x != 1.0f || factors[n].y != 1.0f;
    }
    if (!__any_sync(kAllLanes, any)) return;
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) {
        output[m][n].r[0] *= factors[n].x;
        output[m][n].r[1] *= factors[n].y;
        output[m][n].r[2] *= factors[n].x;
        output[m][n].r[3] *= factors[n].y;
      }
    }
  }

  // Loads the right operands of 16 tokens, one for each eight rows.
  __device__ void load_weights(unsigned (&weights)[kTilesN][2], int k) const {
#pragma unroll
    for (int n = 0; n < kTilesN; n += 2) {
      unsigned words[4];
      load_matrix_x4(
          words, layout_.weights(buffer_.index, n * 8 + lane_ / 16 * 8 + lane_ % 8, k * 2 + lane_ / 8 % 2));
      weights[n][0] = words[0];
      weights[n][1] = words[1];
      weights[n + 1][0] = words[2];
      weights[n + 1][1] = words[3];
    }
  }

  // Loads the left operands of 16 tokens, for two tiles of 16 columns.
  __device__ void load_columns(FragmentA (&columns)[2], SharedAddress v, int k, int pair) const {
    if constexpr (kConvertsKv) {
      const int chunk = warp_ % 2 * 4 + pair * 2 + lane_ / 16;
      unsigned words[4];
      load_matrix_x4_transposed(words, v + swizzled<kBlockRowBytes>(k * 16 + lane_ % 16, chunk));
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          // Two tokens of a column and two of the next column.
          const Fp16Pairs pairs = unpack4_e4m3(__byte_perm(words[2 * m + half], 0, 0x3120));
          columns[m].r[2 * half] = pairs.low;
          columns[m].r[2 * half + 1] = pairs.high;
        }
      }
    } else {
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int chunk = (pair * 2 + m) * 2 + lane_ / 8 % 2;
        load_matrix_x4_transposed(columns[m].r,
                                  v + swizzled<kBlockRowBytes>(k * 16 + lane_ / 16 * 8 + lane_ % 8, chunk));
      }
    }
  }

  // Stores the rows of a work item to the output or, if CTAs share the tile, to the slot of this
  // CTA. A lane stores one of each eight rows, and four columns of each 16.
  __device__ void store(const SentItem& sent, const PackedRows& rows, const Output& output) const {
    const WorkItem& item = sent.item;
    const int pair = lane_ / 8;
    const int quarter = kConvertsKv ? pair : pair % 2 * 2 + pair / 2;
    const int column = warp_ * kWarpColumns + quarter * 4;
#pragma unroll
    for (int n = 0; n < kTilesN; ++n) {
      float4 values[kTilesM];
#pragma unroll
      for (int m = 0; m < kTilesM; ++m)
        values[m] = columns_of_row(output[m][n]);
      const int row = n * 8 + lane_ % 4 * 2 + lane_ / 4 % 2;
      if (!rows.holds(row)) continue;
      const float factor = load_shared_float(layout_.factor(buffer_.index, row));
      const float lse = load_shared_float(layout_.lse(buffer_.index, row));
      if (item.is_whole_tile()) {
        const OutputRow target = output_row(rows, item.sequence, 0, row);
        Epilogue epilogue(p_, target.head, v_scale<Shape::kHasHeadScales>(p_, item.sequence.index, 0));
        const float lse_of_row = epilogue.add_sink(lse);
        store_columns<dtype_o>(values, target.address<dtype_o>(p_) + column * sizeof(dtype_o),
                               factor * epilogue.factor);
        if (column == 0 && p_.lse != 0) store_global_float(p_.lse + 4 * target.index(p_), lse_of_row * kLn2);
      } else {
        const long long partial = static_cast<long long>(sent.slot) * p_.partial_rows + row;
        store_columns<fp32>(values, p_.partial_o + 4 * (partial * head_dim_v + column), factor);
        if (column == 0) store_global_float(p_.partial_lse + 4 * partial, lse);
      }
    }
  }

  // Returns four columns of one of the lane's two rows. Lanes exchange the columns of their rows
  // for this; all lanes must call it.
  __device__ float4 columns_of_row(const FragmentD& d) const {
    const bool odd = lane_ / 4 % 2 != 0;
    float even_row[2] = {d.r[0], d.r[2]};
    float odd_row[2] = {d.r[1], d.r[3]};
    exchange(even_row, odd_row, odd, 4);
    // The pairs hold columns c and c + 1. For 16-bit elements they are followed by columns c + 8
    // and c + 9, which another exchange makes adjacent.
    float low[2] = {even_row[0], odd_row[0]};
    float high[2] = {even_row[1], odd_row[1]};
    if constexpr (kConvertsKv) return make_float4(low[0], high[0], low[1], high[1]);
    exchange(low, high, lane_ / 8 % 2 != 0, 8);
    return make_float4(low[0], low[1], high[0], high[1]);
  }

  // Exchanges pairs between two lanes that are `lanes` apart. With (L1, L2) as `first` and
  // `second` of the lower lane and (U1, U2) of the upper lane, the lower lane then has (L1, U1) and
  // the upper lane (L2, U2).
  __device__ static void exchange(float (&first)[2], float (&second)[2], bool upper, int lanes) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float kept = upper ? second[i] : first[i];
      const float taken = __shfl_xor_sync(kAllLanes, upper ? first[i] : second[i], lanes);
      first[i] = upper ? taken : kept;
      second[i] = upper ? kept : taken;
    }
  }

  template <typename Element>
  __device__ static void store_columns(const float4 (&values)[kTilesM], GlobalAddress target, float factor) {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m)
      store_four_elements<Element>(target + m * 16 * sizeof(Element), values[m], factor);
  }

  // Combines the partial results of a shared tile if this CTA is the last to finish it. Both
  // warpgroups must call it.
  __device__ void combine_if_last(const SentItem& sent, const PackedRows& rows) const {
    const WorkItem& item = sent.item;
    const PartialSlots slots(p_, item, sent.share);
    const int thread = threadIdx.x - kFirstOutputThread;
    synchronize_warps(1, 2 * kWarpgroup);
    if (thread == 0) {
      const GlobalAddress counter =
          p_.counters + 4 * (static_cast<long long>(item.sequence.index) * p_.q_tiles + item.q_tile);
      const bool last = add_global(counter, 1) == slots.count - 1;
      if (last) store_global_int(counter, 0);
      store_shared_4(layout_.is_last(), last ? 1 : 0);
    }
    synchronize_warps(1, 2 * kWarpgroup);
    if (load_shared_4(layout_.is_last()) == 0) return;
#pragma unroll 1
    for (int row = warp_; row < tile_size_q; row += 2 * kOutputWarps)
      combine_two_rows(sent, rows, slots, row);
  }

  // Combines a row and the row eight after it. The loads of one partial result are in flight at
  // once for both rows.
  __device__ void combine_two_rows(const SentItem& sent, const PackedRows& rows, const PartialSlots& slots,
                                   int first_row) const {
    constexpr int kRows = 2;
    constexpr int kAtOnce = 1;
    constexpr int kParts = head_dim_v / (4 * 32);  // parts of four elements that a lane has
    const PartialRowsOf<Shape> partial(p_, 0);
    PartialSum<4 * kParts> sums[kRows];
#pragma unroll 1
    for (int first = 0; first < slots.count; first += kAtOnce) {
      float lse[kRows][kAtOnce];
      uint4 parts[kRows][kAtOnce][kParts];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
          const int row = first_row + r * kOutputWarps;
          const bool valid = first + k < slots.count && rows.holds(row);
          const int slot = slots.slot(first + k);
          lse[r][k] = load_global_float_if(valid, partial.lse(slot, row), negative_infinity());
#pragma unroll
          for (int i = 0; i < kParts; ++i)
            parts[r][k][i] = load_global_16_or_zero(partial.output(slot, {row, 4 * (lane_ + 32 * i)}), valid);
        }
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        sums[r].add(lse[r], parts[r]);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int row = first_row + r * kOutputWarps;
      if (!rows.holds(row)) break;
      const OutputRow target = output_row(rows, sent.item.sequence, 0, row);
      Epilogue epilogue(p_, target.head, v_scale<Shape::kHasHeadScales>(p_, sent.item.sequence.index, 0));
      const float lse = epilogue.add_sink(sums[r].normalise());
      if (lane_ == 0 && p_.lse != 0) store_global_float(p_.lse + 4 * target.index(p_), lse * kLn2);
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        const float* const four = sums[r].values + 4 * i;
        store_four_elements<dtype_o>(target.address<dtype_o>(p_) + 4 * (lane_ + 32 * i) * sizeof(dtype_o),
                                     make_float4(four[0], four[1], four[2], four[3]), epilogue.factor);
      }
    }
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int warp_;
  int lane_;
  PipelineState<stages> state_;
  PipelineState<kBuffers> buffer_;
};

}  // namespace cubinet::attention_latent_narrow
