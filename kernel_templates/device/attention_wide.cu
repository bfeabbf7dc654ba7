// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_wide",
  "interface": 1,
  "summary": "Decode attention of wide heads over a paged KV cache: latent attention 576/512, whose V is K's first columns, and head dim 512",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of Q"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of K and V: dtype_q, or e4m3, which is multiplied as fp16"},
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default": "bf16",
     "summary": "element type of the output; e4m3 needs sm_89"},
    {"name": "head_dim_qk", "type": "int", "values": [512, 576],
     "summary": "elements of a row of Q and K; 576: latent attention, whose V is the first 512 of them"},
    {"name": "head_dim_v", "type": "int", "values": [512],
     "summary": "elements of a row of V and of the output"},
    {"name": "tile_size_q", "type": "int", "values": [16, 32, 64], "default": 16,
     "summary": "rows of the Q tile: query heads of one KV head times query tokens"},
    {"name": "tile_size_kv", "type": "int", "values": [16, 32, 64],
     "default_expression": "dtype_kv == 'e4m3' && tile_size_q < 64 ? 64 : 32",
     "summary": "KV tokens of one step of a thread block"},
    {"name": "stages", "type": "int", "minimum": 2, "maximum": 6, "default": 3,
     "summary": "steps whose K and V are in shared memory or under way to it"},
    {"name": "page_size", "type": "int", "values": [8, 16, 32, 64, 128], "default": 64,
     "summary": "tokens of a page of the KV cache"},
    {"name": "mask", "type": "choice", "values": ["causal", "dense", "custom"], "default": "causal",
     "summary": "causal: the last query token sees all of the KV, each earlier one a token less; custom: by bits"},
    {"name": "sliding_window", "type": "bool", "default": false,
     "summary": "a query sees only the newest tokens; how many is given at run time"},
    {"name": "soft_cap", "type": "bool", "default": false,
     "summary": "logits are bounded by a tanh; the bound is given at run time"},
    {"name": "separate_page_tables", "type": "bool", "default": false,
     "summary": "K and V are looked up by page tables of their own"}
  ],
  "constraints": [
    {"require": "dtype_kv == dtype_q || dtype_kv == 'e4m3'",
     "message": "dtype_kv must be dtype_q or e4m3: the tensor cores multiply one type, and only e4m3 is converted"},
    {"require": "tile_size_q * tile_size_kv <= 2048",
     "message": "tile_size_q * tile_size_kv must be 2048 or less: a warp has the logits of 16 tokens at most"},
    {"require": "dtype_kv != 'e4m3' || tile_size_kv == (tile_size_q == 64 ? 32 : 64)",
     "message": "tile_size_kv must be 64, with 64 rows 32, with KV of e4m3: a warp has the logits of 16 tokens"},
    {"require": "head_dim_qk == 512 || stages >= 3",
     "message": "stages must be 3 or more with head_dim_qk 576: two steps are in use at a time, as K and as V"},
    {"require": "head_dim_qk == 512 || !separate_page_tables",
     "message": "separate_page_tables needs head_dim_qk 512: latent attention has one pool"},
    {"require": "!sliding_window || mask != 'dense'",
     "message": "sliding_window needs mask causal or custom: the window ends at the query's own position"},
    {"require": "sliding_window || mask != 'custom'",
     "message": "mask custom needs sliding_window: one kernel serves with a window and without"}
  ],
  "kernels": [
    {"name": "attention_wide",
     "threads": "256",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + max(stages * tile_size_kv * (head_dim_qk == 576 ? 576 : 1024) * bytes(dtype_kv) + 2 * max(64 / tile_size_q / (tile_size_kv == 16 ? 1 : 2), 1) * tile_size_q * (tile_size_kv + 8) * 4 + (tile_size_q < 64 && tile_size_kv >= 32 && stages >= (head_dim_qk == 576 ? 4 : 3) ? 2 * tile_size_q * (tile_size_kv * 2 + 20) : 0), tile_size_q * (head_dim_v + 10) * 4) + (dtype_kv == 'e4m3' ? tile_size_q * 4 : 0)",
     "parameter_bytes": 344,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks * heads_kv",
     "programmatic_launch": true},
    {"name": "attention_wide_reduce",
     "threads": "256",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 344,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "(heads_q, q_len, batch)",
     "programmatic_launch": true}
  ],
  "row": {
    "qkv_layout": "'paged_kv'",
    "kernel_type": "'keeps'",
    "mask": "mask == 'causal' && sliding_window ? 'sliding_or_chunked_causal' : mask",
    "tile_scheduler": "'static'",
    "multi_ctas_kv_mode": "'gmem_separate'",
    "data_type_q": "dtype_q",
    "data_type_k": "dtype_kv",
    "data_type_v": "dtype_kv",
    "data_type_o": "dtype_o",
    "tile_size_q": "tile_size_q",
    "tile_size_kv": "tile_size_kv",
    "step_q": "tile_size_q",
    "step_kv": "tile_size_kv",
    "head_dim_qk": "head_dim_qk",
    "head_dim_v": "head_dim_v",
    "head_dim_per_cta_v": "head_dim_v",
    "tokens_per_page": "page_size",
    "groups_tokens_heads_q": true,
    "groups_heads_q": true,
    "stages": "stages",
    "soft_cap": "soft_cap",
    "separate_page_tables": "separate_page_tables"
  }
}
*/
// Grid of attention_wide: parameters.blocks times heads_kv. Each block takes an equal part of the KV of all
// sequences, piece by piece; what several blocks computed of a tile is brought together as in attention_decode.
//
// The accumulators of 512 columns do not fit a warp's registers. So each of the eight warps has 64 of them, of all rows,
// and all of the tokens. The logits are computed by parts (rows, tokens and, of few, parts of the head dim) and exchanged
// through shared memory; so are the weights that are made of them, a row by a few lanes. In one step, between two
// barriers, the warps compute the logits of a step, the weights of the one before it and the product with V of the one
// before that. Where that is too much for shared memory, of 64 rows, every warp makes all weights for itself.
#include <cubinet/attention_wide_shape.cuh>

#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_q.cuh>
#include <cubinet/attention_decode_reduce.cuh>
#include <cubinet/attention_decode_softmax.cuh>
#include <cubinet/attention_wide_product.cuh>
#include <cubinet/attention_wide_stream.cuh>
#include <cubinet/attention_wide_weights.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention {

// The output of the warps, brought to where rows are stored from.
class ColumnMerge {
 public:
  __device__ explicit ColumnMerge(SharedAddress memory) : output_(memory) {}

  __device__ void put(const WideState& state, int warp, int lane) const {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = tile * kWarpRows + lane / 4 + 8 * half;
        if constexpr (!kSharesWeights) {
          const float total = lanes_sum<4>(state.rows[tile].sum[half]);
          if (warp == 0 && lane % 4 == 0) put_extremes(row, state.rows[tile].maximum[half], total);
        }
        put_row(state.rows[tile].output, half, output_ + (row * kMergeStride + warp * kWarpColumns) * 4, lane % 4);
      }
    }
  }
  __device__ void put_extremes(int row, float maximum, float sum) const {
    store_shared_floats(extremes(row), maximum, sum);
  }

  // Normalised output of one row, 8 elements from element `first` on; returns the base-2 log-sum-exp.
  __device__ float take(float (&values)[8], int row, int first) const {
    const float highest = load_shared_float(extremes(row));
    const float total = load_shared_float(extremes(row) + 4);
    const SharedAddress source = output_ + (row * kMergeStride + first) * 4;
    Vector16<fp32>::unpack(load_shared_16(source), values);
    Vector16<fp32>::unpack(load_shared_16(source + 16), values + 4);
    const float scale = total != 0.0f ? reciprocal_approx(total) : 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      values[i] *= scale;
    return total != 0.0f ? highest + log2_approx(total) : negative_infinity();
  }

 private:
  // Where a row's maximum lies; its sum follows.
  __device__ SharedAddress extremes(int row) const {
    return output_ + tile_size_q * (kMergeStride * 4) + row * 8;
  }

  SharedAddress output_;  // [tile_size_q][kMergeStride] floats
};

// Q as fp16, a row a warp at a time.
__device__ inline void convert_q(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                                 int head_kv, SharedAddress q_shared, SharedAddress scales) {
  constexpr int kParts = head_dim_qk / 8;
  constexpr int kOfLane = divide_up(kParts, 32);
  const int lane = threadIdx.x % 32;
  const QRows<1> source(p, rows, sequence, head_kv);
#pragma unroll 1
  for (int row = threadIdx.x / 32; row < tile_size_q; row += kThreads / 32) {
    uint4 bits[kOfLane];
    float largest = 0.0f;
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      const int part = minimum(lane + 32 * i, kParts - 1);
      bits[i] = load_q_part(source.source(row) + part * (8 * sizeof(dtype_q)));
      largest = fmaxf(largest, largest_of_part(bits[i]));
    }
    const QFactor of_row(lanes_max<32>(largest));
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      if (lane + 32 * i < kParts) store_q_part(bits[i], of_row.factor, row, lane + 32 * i, q_shared);
    }
    if (lane == 0) store_shared_float(scales + 4 * row, of_row.scale);
  }
}

// What a lane knows of its two rows of a row tile.
struct LaneRows {
  KvRange visible[2];
  DraftMask draft_mask;

  __device__ LaneRows(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence, int row)
      : visible{visible_to(p, sequence, rows.token(row)), visible_to(p, sequence, rows.token(row + 8))},
        draft_mask(p, sequence, rows, row) {}
};

// The softmax scale of a row, times log2(e). It is above 0, which is made sure of so that what was loaded is there before
// the loop, which would otherwise wait in every step for what it loads itself into the same scoreboard: the next page's
// number.
__device__ inline float scale_of_row(const AttentionDecodeParameters& p, SharedAddress scales, int row) {
  const float scale = softmax_scale_log2(p);
  if constexpr (kConvertsKv) return scale * kE4m3Scale * load_shared_float(scales + 4 * row);
  return scale;
}

// A step's weights and its product with V, by a warp that makes all of them for itself.
class OwnWeights {
 public:
  __device__ OwnWeights(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                        SharedAddress scales, int lane)
      : p_(p), rows_(rows), sequence_(sequence), lane_(lane) {
#pragma unroll
    for (int row = 0; row < 2 * kRowTiles; ++row)
      scale_log2_[row] = scale_of_row(p, scales, lane / 4 + 8 * row);
  }

  __device__ void take(WideState& state, const WideProduct& product, int step, int token, const KvRange& seen_by_all,
                       SharedAddress v_step) const {
#pragma unroll
    for (int slice = 0; slice < tile_size_kv / kSlice; ++slice) {
      const int first = token + slice * kSlice;
      Weights weights[kRowTiles];
#pragma unroll
      for (int tile = 0; tile < kRowTiles; ++tile) {
        FragmentD scores[kTilesS];
        product.load_scores(scores, tile, step, slice);
        float scale_log2[2] = {scale_log2_[2 * tile], scale_log2_[2 * tile + 1]};
        SoftCap<soft_cap>(p_, scale_log2).apply(scores);
        if (!seen_by_all.holds_slice(first)) {
          const LaneRows of_lane(p_, rows_, sequence_, tile * kWarpRows + lane_ / 4);
          mask_scores(scores, of_lane.visible, of_lane.draft_mask, first, lane_);
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

// All steps of a piece; their result goes to `merge`.
__device__ inline void walk(WideStream& stream, const AttentionDecodeParameters& p, const PackedRows& rows,
                            const Sequence& sequence, SharedAddress q_shared, const ColumnMerge& merge) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const SharedAddress scales = q_shared + kQBytes + kWorkBytes;
  const SharedAddress logits = q_shared + kQBytes + kRingBytes;
  const KvRange seen_by_all{
      visible_to(p, sequence, rows.token(tile_size_q - 1)).begin,
      kCustomMask ? sequence.length - sequence.q_len : visible_to(p, sequence, rows.token(0)).end};
  stream.wait();
  __syncthreads();
  const WideProduct product(q_shared, logits, warp, lane);
  WideState state{};
  if constexpr (kSharesWeights) {
    SharedWeights weights(p, rows, sequence, scale_of_row(p, scales, SharedWeights::row()),
                          logits + 2 * kLogitBytes);
#pragma unroll 1
    for (int step = -kLead; step < stream.count(); ++step) {
      if (step > -kLead) stream.wait();
      __syncthreads();
      stream.release();
      if (step + 2 < stream.count()) product.multiply_qk(stream.k_step(), step + 2);
      if (step + 1 >= 0 && step + 1 < stream.count()) {
        const int token = stream.token(step + 1);
        weights.weigh(product, step + 1, token,
                      token + tile_size_kv <= seen_by_all.end && (!sliding_window || token >= seen_by_all.begin));
      }
      if (step >= 0) {
        weights.correct(state, step, lane);
#pragma unroll
        for (int slice = 0; slice < tile_size_kv / kSlice; ++slice) {
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
    if (threadIdx.x % SharedWeights::kLanes == 0) merge.put_extremes(SharedWeights::row(), weights.maximum(), sum);
  } else {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile)
      state.rows[tile].maximum[0] = state.rows[tile].maximum[1] = negative_infinity();
    const OwnWeights weights(p, rows, sequence, scales, lane);
#pragma unroll 1
    for (int step = -kLead; step < stream.count(); ++step) {
      if (step > -kLead) stream.wait();
      __syncthreads();
      stream.release();
      if (step + 1 < stream.count()) product.multiply_qk(stream.k_step(), step + 1);
      if (step >= 0) weights.take(state, product, step, stream.token(step), seen_by_all, stream.v_step());
      stream.advance();
    }
    async_copy_wait<0>();
    __syncthreads();
  }
  merge.put(state, warp, lane);
  __syncthreads();
}

// One piece of the block's work, in memory that nobody reads or writes any more.
__device__ inline void compute(const AttentionDecodeParameters& p, const WorkDivision& division,
                               const Piece& piece, int head_kv, SharedAddress q_shared) {
  const Sequence& sequence = piece.sequence;
  const PackedRows rows{p.group, p.group.divisor * sequence.q_len, piece.q_tile * tile_size_q};
  if constexpr (kConvertsKv) {
    convert_q(p, rows, sequence, head_kv, q_shared, q_shared + kQBytes + kWorkBytes);
  } else {
    copy_q(p, rows, sequence, head_kv, q_shared);
    async_copy_commit();
  }
  const KvRange seen{visible_to(p, sequence, rows.token(0)).begin,
                     visible_to(p, sequence, rows.token(tile_size_q - 1)).end};
  const SharedAddress work = q_shared + kQBytes;
  WideStream stream(p, sequence.index, head_kv, range_of<tile_size_kv>(p, piece, seen), seen.begin, work);
  stream.fill();

  const ColumnMerge merge(work);
  walk(stream, p, rows, sequence, q_shared, merge);
  store_piece(p, merge, rows, division, piece, head_kv);
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    attention_wide(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups(p);
  wait_for_prerequisites();
  launch_dependents();

  const int index = static_cast<int>(blockIdx.x);
  const int block = p.heads_kv.quotient(index);  // the KV heads of the same tokens run side by side
  const int head_kv = index - block * p.heads_kv.divisor;
  const WorkDivision division(p, block);
#pragma unroll 1
  for (int unit = division.begin(); unit < division.end();) {
    const Piece piece = division.piece(p, unit);
    compute(p, division, piece, head_kv, shared_address(shared));
    unit = piece.end;
    if (unit < division.end()) __syncthreads();
  }
}

static_assert(attention_wide_reduce_threads == kReduceThreads,
              "the host's formula of the block size differs");
static_assert(attention_wide_reduce_shared_bytes == 0, "the reduction uses static shared memory alone");

extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceBlocksPerSm)
    attention_wide_reduce(const __grid_constant__ AttentionDecodeParameters p) {
  reduce_output_row(p);
}

}  // namespace cubinet::attention
