// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_wide",
  "interface": 2,
  "summary": "Decode attention of wide heads over a paged KV cache: latent attention 576/512, whose V is the first 512 columns of K, and head dim 512",
  "base": "attention_decode.base.json",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "head_dim_qk", "values": [512, 576],
     "summary": "elements of a row of Q and K; 576: latent attention, whose V is the first 512 of them"},
    {"name": "head_dim_v", "values": [512]},
    {"name": "tile_size_kv", "values": [16, 32, 64], "default_expression": "dtype_kv == 'e4m3' && tile_size_q < 64 ? 64 : 32"},
    {"name": "stages", "default": 3}
  ],
  "constraints": [
    {"require": "tile_size_q * tile_size_kv <= 2048",
     "message": "tile_size_q * tile_size_kv must be at most 2048: a warp computes the logits of at most 16 tokens"},
    {"require": "dtype_kv != 'e4m3' || tile_size_kv == (tile_size_q == 64 ? 32 : 64)",
     "message": "tile_size_kv must be 32 if dtype_kv is e4m3 and tile_size_q is 64, and 64 if dtype_kv is e4m3 otherwise: a warp computes the logits of 16 tokens"},
    {"require": "head_dim_qk == 512 || stages >= 3",
     "message": "stages must be at least 3 with head_dim_qk 576: two steps are in use at a time, one as K and one as V"},
    {"require": "head_dim_qk == 512 || !separate_page_tables",
     "message": "separate_page_tables needs head_dim_qk 512: latent attention has one pool"}
  ],
  "kernels": [
    {"name": "attention_wide",
     "threads": "256",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + max(stages * tile_size_kv * (head_dim_qk == 576 ? 576 : 1024) * bytes(dtype_kv) + 2 * max(64 / tile_size_q / (tile_size_kv == 16 ? 1 : 2), 1) * tile_size_q * (tile_size_kv + 8) * 4 + (tile_size_q < 64 && tile_size_kv >= 32 && stages >= (head_dim_qk == 576 ? 4 : 3) ? 2 * tile_size_q * (tile_size_kv * 2 + 20) : 0), tile_size_q * (head_dim_v + 10) * 4) + (dtype_kv == 'e4m3' ? tile_size_q * 4 : 0)",
     "parameter_bytes": 384,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks * heads_kv",
     "programmatic_launch": true}
  ]
}
*/
// Grid: parameters.blocks * heads_kv CTAs. Work division and partial results are those of
// attention_decode.
//
// A CTA has 8 warps (256 threads). The accumulators of 512 columns do not fit the registers of one
// warp, so each warp accumulates 64 columns of all rows over all tokens. The product of Q and K is
// split among the warps by rows, by tokens and, if there are few rows, along the head dim
// (split-K). They exchange the logits through shared memory. If kSharesWeights is true, they also
// exchange the softmax weights in this way, a few adjacent lanes compute the weights of one row,
// and the loop is a software pipeline of three steps: between two barriers the warps compute the
// logits of step i + 2, the softmax weights of step i + 1, and the product with V of step i.
// Otherwise (64 rows, steps of 16 tokens, or a short ring) every warp computes all weights, and the
// pipeline has two steps.
#include <cubinet/attention/q.cuh>
#include <cubinet/attention/softmax.cuh>
#include <cubinet/attention/store_tile.cuh>
#include <cubinet/attention/work_division.cuh>
#include <cubinet/attention_wide/product.cuh>
#include <cubinet/attention_wide/shape.cuh>
#include <cubinet/attention_wide/stream.cuh>
#include <cubinet/attention_wide/weights.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention_wide {

using Visible = VisibleOf<Shape>;
using WorkDivision = WorkDivisionOf<Shape>;

// The output of all warps in shared memory, from which the rows are stored.
class ColumnMerge {
 public:
  __device__ explicit ColumnMerge(SharedAddress memory) : output_(memory) {}

  // Stores the columns of one warp.
  __device__ void store(const WideState& state, int warp, int lane) const {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = tile * kWarpRows + lane / 4 + 8 * half;
        if constexpr (!kSharesWeights) {
          const float total = lanes_sum<4>(state.rows[tile].sum[half]);
          if (warp == 0 && lane % 4 == 0) store_extremes(row, state.rows[tile].maximum[half], total);
        }
        store_row_to_shared<kConvertsKv>(state.rows[tile].output, half,
                                         output_ + (row * Shape::kOutputStride + warp * kWarpColumns) * 4,
                                         lane % 4);
      }
    }
  }
  __device__ void store_extremes(int row, float maximum, float sum) const {
    store_shared_floats(extremes(row), maximum, sum);
  }

  // Loads 8 normalised elements of a row, starting at element `first`. Returns the base-2 LSE of
  // the row.
  __device__ float load(float (&values)[8], int row, int first) const {
    const float highest = load_shared_float(extremes(row));
    const float total = load_shared_float(extremes(row) + 4);
    const SharedAddress source = output_ + (row * Shape::kOutputStride + first) * 4;
    Vector16<fp32>::unpack(load_shared_16(source), values);
    Vector16<fp32>::unpack(load_shared_16(source + 16), values + 4);
    const float scale = total != 0.0f ? reciprocal_approx(total) : 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      values[i] *= scale;
    return total != 0.0f ? highest + log2_approx(total) : negative_infinity();
  }

 private:
  // Returns the address of the maximum of a row; its sum follows.
  __device__ SharedAddress extremes(int row) const {
    return output_ + tile_size_q * (Shape::kOutputStride * 4) + row * 8;
  }

  SharedAddress output_;  // [tile_size_q][kOutputStride] floats
};

// Converts Q to fp16 and stores it to shared memory, and the scale of each row to `scales`. A warp
// converts one row at a time.
__device__ inline void convert_q(const AttentionDecodeParameters& p, const PackedRows& rows,
                                 const Sequence& sequence, int head_kv, SharedAddress q_shared,
                                 SharedAddress scales) {
  constexpr int kParts = head_dim_qk / 8;
  constexpr int kOfLane = divide_up(kParts, 32);
  const int lane = threadIdx.x % 32;
  const QRowsOf<Shape, 1> source(p, rows, sequence, head_kv);
#pragma unroll 1
  for (int row = threadIdx.x / 32; row < tile_size_q; row += kWarps) {
    uint4 bits[kOfLane];
    float largest = 0.0f;
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      const int part = minimum(lane + 32 * i, kParts - 1);
      bits[i] = load_q_part<dtype_q>(source.source(row) + part * (8 * sizeof(dtype_q)));
      largest = fmaxf(largest, largest_of_part<dtype_q>(bits[i]));
    }
    const QFactor<dtype_q> of_row(lanes_max<32>(largest));
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      if (lane + 32 * i < kParts)
        store_q_part<dtype_q, SwizzledRows<Shape::kRowBytesQ>>(bits[i], of_row.factor, row, lane + 32 * i,
                                                               q_shared);
    }
    if (lane == 0) store_shared_float(scales + 4 * row, of_row.scale);
  }
}

// The masks of a lane's two rows, `row` and `row + 8`, of a tile of 16 rows.
struct LaneRows {
  Visible::Range visible[2];
  DraftMask draft_mask;

  __device__ LaneRows(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                      int row)
      : visible{Visible::to_token(p, sequence, rows.token(row)),
                Visible::to_token(p, sequence, rows.token(row + 8))},
        draft_mask(p, sequence, rows, row) {}
};

// Returns the factor that converts the logits of a row to base 2. softmax_scale_log2() compares it
// with 0, which forces its load to complete before the loop (see attention_decode).
__device__ inline float scale_of_row(const AttentionDecodeParameters& p, const Sequence& sequence,
                                     int head_kv, SharedAddress scales, int row) {
  const float scale = softmax_scale_log2<Shape::kHasHeadScales>(p, sequence.index, head_kv);
  if constexpr (kConvertsKv) return scale * kE4m3Scale * load_shared_float(scales + 4 * row);
  return scale;
}

// The softmax of a warp that computes all weights itself.
class OwnWeights {
 public:
  __device__ OwnWeights(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                        int head_kv, SharedAddress scales, int lane)
      : p_(p), rows_(rows), sequence_(sequence), lane_(lane) {
#pragma unroll
    for (int row = 0; row < 2 * kRowTiles; ++row)
      scale_log2_[row] = scale_of_row(p, sequence, head_kv, scales, lane / 4 + 8 * row);
  }

  // Updates the softmax with a step, and adds the product of its weights and V to the output.
  __device__ void process(WideState& state, const WideProduct& product, int step, int token,
                          const Range& seen_by_all, SharedAddress v_step) const {
#pragma unroll
    for (int slice = 0; slice < kSlices; ++slice) {
      const int first = token + slice * kSlice;
      Weights weights[kRowTiles];
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
        FragmentD scores[kTilesS];
        product.load_scores(scores, tile, step, slice);
        float scale_log2[2] = {scale_log2_[2 * tile], scale_log2_[2 * tile + 1]};
        SoftCap<soft_cap>(p_, scale_log2).apply(scores);
        if (!seen_by_all.holds_all<kSlice>(first)) {
          const LaneRows of_lane(p_, rows_, sequence_, tile * kWarpRows + lane_ / 4);
          mask_scores<Shape>(scores, of_lane.visible, of_lane.draft_mask, first, lane_);
        }
        weights[tile] = softmax(state.rows[tile], scores, scale_log2);
      }
      product.multiply_pv(state, weights, v_step, slice);
    }
  }

 private:
  const AttentionDecodeParameters& p_;
  const PackedRows& rows_;
  const Sequence& sequence_;
  int lane_;
  float scale_log2_[2 * kRowTiles];
};

// Processes all steps of a work item and stores their result to `merge`.
__device__ inline void process_steps(WideStream& stream, const AttentionDecodeParameters& p,
                                     const PackedRows& rows, const Sequence& sequence, int head_kv,
                                     SharedAddress q_shared, const ColumnMerge& merge) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const SharedAddress scales = q_shared + Shape::kQBytes + kWorkBytes;
  const SharedAddress logits = q_shared + Shape::kQBytes + kRingBytes;
  const Range seen_by_all = Visible::to_all_rows(p, sequence, rows);
  stream.wait();
  __syncthreads();
  const WideProduct product(q_shared, logits, warp, lane);
  WideState state{};
  if constexpr (kSharesWeights) {
    const float scale = scale_of_row(p, sequence, head_kv, scales, SharedWeights::row());
    SharedWeights weights(p, rows, sequence, scale, logits + 2 * kLogitBytes);
#pragma unroll 1
    for (int step = -kLead; step < stream.count(); ++step) {
      if (step > -kLead) stream.wait();
      __syncthreads();
      stream.release();
      if (step + 2 < stream.count()) product.multiply_qk(stream.k_step(), step + 2);
      if (step + 1 >= 0 && step + 1 < stream.count()) {
        const int token = stream.token(step + 1);
        weights.update(product, step + 1, token, seen_by_all.holds_all<tile_size_kv>(token));
      }
      if (step >= 0) {
        weights.correct(state, step, lane);
#pragma unroll
        for (int slice = 0; slice < kSlices; ++slice) {
          Weights of_slice[kRowTiles];
          weights.load(of_slice, step, slice, lane);
          product.multiply_pv(state, of_slice, stream.v_step(), slice);
        }
      }
      stream.advance();
    }
    async_copy_wait<0>();
    __syncthreads();
    const float sum = weights.sum();
    if (threadIdx.x % SharedWeights::kLanes == 0)
      merge.store_extremes(SharedWeights::row(), weights.maximum(), sum);
  } else {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile)
      state.rows[tile].maximum[0] = state.rows[tile].maximum[1] = negative_infinity();
    const OwnWeights weights(p, rows, sequence, head_kv, scales, lane);
#pragma unroll 1
    for (int step = -kLead; step < stream.count(); ++step) {
      if (step > -kLead) stream.wait();
      __syncthreads();
      stream.release();
      if (step + 1 < stream.count()) product.multiply_qk(stream.k_step(), step + 1);
      if (step >= 0) weights.process(state, product, step, stream.token(step), seen_by_all, stream.v_step());
      stream.advance();
    }
    async_copy_wait<0>();
    __syncthreads();
  }
  merge.store(state, warp, lane);
  __syncthreads();
}

// Processes one work item. REQUIRES: no thread uses the shared memory any more.
__device__ inline void process_item(const AttentionDecodeParameters& p, const WorkDivision& division,
                                    const WorkItem& item, int head_kv, SharedAddress q_shared) {
  const Sequence& sequence = item.sequence;
  const PackedRows rows{p.group, p.group.divisor * sequence.q_len, item.q_tile * tile_size_q};
  if constexpr (kConvertsKv) {
    convert_q(p, rows, sequence, head_kv, q_shared, q_shared + Shape::kQBytes + kWorkBytes);
  } else {
    copy_q<Shape>(p, rows, sequence, head_kv, q_shared);
    async_copy_commit();
  }
  const Range seen = Visible::to_any_row(p, sequence, rows);
  const SharedAddress work = q_shared + Shape::kQBytes;
  WideStream stream(p, sequence.index, head_kv, WorkDivision::tokens_of<tile_size_kv>(p, item, seen),
                    seen.begin, work);
  stream.fill();

  const ColumnMerge merge(work);
  process_steps(stream, p, rows, sequence, head_kv, q_shared, merge);
  store_work_item(p, merge, rows, division, item, head_kv);
}

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 1)
    attention_wide(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups<Shape>(p);
  wait_for_prerequisites();
  launch_dependents();

  const int index = static_cast<int>(blockIdx.x);
  const int block = p.heads_kv.quotient(index);  // adjacent CTAs: KV heads of the same tokens
  const int head_kv = index - block * p.heads_kv.divisor;
  const WorkDivision division(p, block);
  // There are no registers to keep the item in, from which the next one would be found faster.
#pragma unroll 1
  for (int unit = division.begin(); unit < division.end();) {
    const WorkItem item = division.item(p, unit);
    process_item(p, division, item, head_kv, shared_address(shared));
    unit = item.end;
    if (unit < division.end()) __syncthreads();
  }
}

}  // namespace cubinet::attention_wide
