// SPDX-License-Identifier: Apache-2.0
#pragma once
// The products of `attention_decode_swapped`: S^T = K Q^T, whose rows are tokens, and O^T += V^T
// P^T, whose rows are columns of V. K and V are converted to fp16 between shared memory and the
// registers that feed wgmma. Q and the weights are stored in shared memory as fp16, with the
// elements of a row adjacent.
#include <cubinet/attention_decode_swapped/shape.cuh>
#include <cubinet/mbarrier.cuh>
#include <cubinet/swizzle.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention_decode_swapped {

constexpr int kBlockBytesQ = tile_size_q * 128;

// The addresses from which a lane loads K and V of the slice in slot 0, and to which it stores
// weights in buffer 0. ldmatrix loads rows of eight pairs of bytes.
struct LaneAddresses {
  SharedAddress k;
  SharedAddress v;
  SharedAddress weights;

  __device__ LaneAddresses(const SharedLayout& layout, const ThreadIndex& index)
      : k(layout.slice(0) + swizzled<Shape::kRowBytesK>(index.warp * 16 + index.lane % 16, index.lane / 16)),
        v(layout.slice(0) + Shape::kSliceBytesK + swizzled<Shape::kRowBytesV>(index.lane, index.warp)),
        weights(layout.weights(0) +
                swizzled<128>(index.lane % 8 + index.lane / 16 * 8, index.warp * 2 + index.lane / 8 % 2)) {
    keep_in_register(k);
    keep_in_register(v);
    keep_in_register(weights);
  }
};

// K of the 16 tokens of the warp, unconverted. One ldmatrix loads two steps of 16 elements.
struct RawK {
  unsigned words[kStepsQk / 2][4];

  // `first` is this lane's address in the slice.
  __device__ void load(SharedAddress first) {
#pragma unroll
    for (int pair = 0; pair < kStepsQk / 2; ++pair)
      load_matrix_x4(words[pair], advanced_in<Shape::kRowBytesK>(first, 2 * pair));
  }
};

// K of the 16 tokens of the warp as fp16. A lane holds four adjacent elements. The first two count
// as elements 2c and 2c + 1 of the step, and the others as 2c + 8 and 2c + 9. Q is stored in the
// same order.
struct FragmentsK {
  FragmentA steps[kStepsQk];

  __device__ explicit FragmentsK(const RawK& raw) {
#pragma unroll
    for (int step = 0; step < kStepsQk; ++step) {
      const Fp16Pairs upper = unpack4_e4m3(raw.words[step / 2][step % 2 * 2]);
      const Fp16Pairs lower = unpack4_e4m3(raw.words[step / 2][step % 2 * 2 + 1]);
      steps[step] = {{upper.low, lower.low, upper.high, lower.high}};
    }
  }
};

// V of a slice, unconverted. A warp has 16 of each 64 columns. A lane has two adjacent columns, as
// rows r and r + 8 of its tile.
struct RawV {
  unsigned words[kTilesM][kStepsPv / 2][4];

  __device__ void load(SharedAddress first) {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
      for (int pair = 0; pair < kStepsPv / 2; ++pair)
        load_matrix_x4_transposed(
            words[m][pair], advanced_in<Shape::kRowBytesV>(first, 4 * m) + pair * (32 * Shape::kRowBytesV));
    }
  }
};
struct FragmentsV {
  FragmentA steps[kTilesM * kStepsPv];

  __device__ explicit FragmentsV(const RawV& raw) {
#pragma unroll
    for (int i = 0; i < kTilesM * kStepsPv; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        // Two tokens of a column and two of the next column.
        const unsigned word = raw.words[i / kStepsPv][i % kStepsPv / 2][i % 2 * 2 + half];
        const Fp16Pairs pairs = unpack4_e4m3(__byte_perm(word, 0, 0x3120));
        steps[i].r[2 * half] = pairs.low;
        steps[i].r[2 * half + 1] = pairs.high;
      }
    }
  }
};

// The logits, as product tiles. A lane holds two of each eight rows of Q, 2c and 2c + 1, which are
// columns of the products.
using Scores = FragmentD[kTilesN];
using Output = FragmentD[kTilesM][kTilesN];

// Computes the raw logits of a slice.
__device__ inline void multiply_qk(Scores& scores, const RawK& raw_k, SharedAddress q_shared) {
  const MatrixDescriptor q = rows_of_k(q_shared);
  FragmentsK k(raw_k);
  wgmma_begin(scores, k.steps);
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step)
    Wgmma<Product, tile_size_q>::multiply(
        scores, k.steps[step], descriptor_behind(q, step / 4 * kBlockBytesQ + step % 4 * 32), step > 0);
  wgmma_commit();
  wgmma_wait<0>(scores, k.steps);
}

// Starts the product of the weights and a slice of V, which is added to the output.
__device__ inline void start_pv(Output& output, FragmentsV& v, SharedAddress weights) {
  const MatrixDescriptor p = rows_of_k(weights);
#pragma unroll
  for (int m = 0; m < kTilesM; ++m)
    keep_in_order(output[m]);
  wgmma_begin(v.steps);
#pragma unroll
  for (int step = 0; step < kStepsPv; ++step) {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m)
      Wgmma<Product, tile_size_q>::multiply(output[m], v.steps[m * kStepsPv + step],
                                            descriptor_behind(p, step * 32), true);
  }
  wgmma_commit();
}

__device__ inline void wait_for_pv(Output& output, FragmentsV& v) {
  wgmma_wait<0>(v.steps);
#pragma unroll
  for (int m = 0; m < kTilesM; ++m)
    keep_in_order(output[m]);
}

}  // namespace cubinet::attention_decode_swapped
