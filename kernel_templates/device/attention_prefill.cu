// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_prefill",
  "interface": 2,
  "summary": "Prefill attention over a paged or contiguous KV cache: ragged Q, GQA/MQA heads packed into the tile, tensor cores",
  "base": "attention_prefill.base.json",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype", "values": ["bf16", "fp16", "e4m3"],
     "summary": "element type of Q; e4m3 is multiplied as fp16"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default_expression": "dtype",
     "summary": "element type of K and V: dtype, or e4m3, which is converted to dtype exactly"},
    {"name": "dtype_o", "values": ["bf16", "fp16", "fp32", "e4m3"],
     "summary": "element type of the output; e4m3 needs sm_89 or later"},
    {"name": "head_dim_qk", "values": [64, 72, 80, 88, 96, 128, 192, 256, 512]},
    {"name": "head_dim_v", "values": [64, 72, 80, 88, 96, 128, 256, 512]},
    {"name": "tile_size_q", "type": "int", "values": [64, 128], "default": 64,
     "summary": "rows of the Q tile: query heads of one KV head times query tokens; a warp has 16 of them"},
    {"name": "tile_size_kv", "type": "int", "values": [64], "default": 64,
     "summary": "KV tokens of one step"},
    {"name": "stages", "type": "int", "minimum": 1, "maximum": 4, "default": 2,
     "summary": "stages of the ring in shared memory; a stage holds K and V of one step"},
    {"name": "numerics", "type": "choice", "values": ["fast", "invariant"], "default": "fast",
     "summary": "invariant: a row has the same bits in every batch and in every kernel with invariant numerics (docs/arithmetic.md)"}
  ],
  "constraints": [
    {"require": "dtype_kv == dtype || dtype_kv == 'e4m3'",
     "message": "dtype_kv must be dtype or e4m3: the tensor cores multiply one type, and only e4m3 is converted"},
    {"require": "numerics == 'fast' || dtype_kv != 'e4m3'",
     "message": "numerics invariant needs KV of 16 bits: no other kernel has it for e4m3"}
  ],
  "kernels": [
    {"name": "attention_prefill",
     "threads": "tile_size_q * 2",
     "dynamic_shared_bytes": "dtype_kv == 'e4m3' ? tile_size_q * ((head_dim_qk + 63) / 64 * 64) * bytes(dtype) + stages * tile_size_kv * ((head_dim_qk + 63) / 64 * 64 + (min(head_dim_v, numerics == 'invariant' ? 128 : 256) + 63) / 64 * 64) + 16 : (tile_size_q + stages * tile_size_kv) * ((head_dim_qk + 31) / 32 * 64) + stages * tile_size_kv * ((min(head_dim_v, numerics == 'invariant' ? 128 : 256) + 31) / 32 * 64) + 16",
     "parameter_bytes": 384,
     "argument": "cubinet::kernel_templates::AttentionPrefillParameters",
     "argument_header": "cubinet/kernel_templates/attention_prefill_parameters.h",
     "grid": "min(tiles of the bounds, CTAs that the device holds)",
     "programmatic_launch": true}
  ],
  "row": {
    "head_dim_per_cta_v": "min(head_dim_v, numerics == 'invariant' ? 128 : 256)",
    "invariant": "numerics == 'invariant'",
    "data_type_k": "dtype_kv",
    "data_type_v": "dtype_kv"
  }
}
*/
// Grid: any number of CTAs. A CTA computes one tile of Q after the other. A tile is tile_size_q
// packed rows of one sequence and KV head. The schedule orders the tiles by their KV, the longest
// first, from the lengths on the device. A counter in global memory gives each CTA its next tile.
//
// A warp has registers for 256 columns of the output. With more, a tile is computed once for each
// part of 256 columns. With invariant numerics a part has 128 columns: a warp has the output of the
// present segment of 512 tokens and that of the earlier ones, which it folds at the segment's end.
//
// A CTA has tile_size_q / 16 warps, which share each step of K and V and process 16 rows each. All
// threads copy a step with cp.async. A step is 64 tokens and starts at a multiple of 64, so a row's
// arithmetic does not depend on the tile that contains it.
//
// KV of e4m3 stays e4m3 in shared memory. Each warp converts it to the type of Q in registers,
// which changes no value. Q of e4m3 is converted to fp16.
#include <cubinet/attention/q.cuh>
#include <cubinet/attention_prefill/output.cuh>
#include <cubinet/attention_prefill/product.cuh>
#include <cubinet/attention_prefill/schedule.cuh>
#include <cubinet/attention_prefill/shape.cuh>
#include <cubinet/attention_prefill/stream.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention_prefill {

using Visible = VisibleOf<Shape>;
using Tile = TileOf<Shape>;

// The mask of draft tokens of kernels without a custom mask.
struct NoDraftMask {};

// Processes all steps of a tile. `first_row` is the first row of this warp in the tile.
__device__ inline void process_steps(RowState& state, FoldedRowsOf<Shape>& folded, KvStream& stream,
                                     const AttentionPrefillParameters& p, const Tile& tile,
                                     SharedAddress q_shared, int first_row) {
  const int lane = threadIdx.x % 32;
  const PackedRows rows = tile.rows(p);
  const SharedAddress q_warp = q_shared + first_row * Shape::kRowBytesQ;
  const QFragments q_fragments(q_warp, lane);
  const Range seen_by_all = Visible::to_all_rows(p, tile.sequence, rows);
  const int row = first_row + lane / 4;
  const float scale = softmax_scale_log2<Shape::kHasHeadScales>(p, tile.sequence.index, tile.head_kv);
  float scales[2] = {scale, scale};
  const SoftCap<soft_cap> cap(p, scales);
  // Without rows, the warp only copies. The result of a vote is uniform. Wide heads lack the
  // registers for the branches.
  const bool has_rows = Shape::kColumnsV > 128 || __any_sync(kAllLanes, rows.holds(first_row));
#pragma unroll 1
  for (int step = 0; step < stream.count(); ++step) {
    const int token = stream.token(step);
    Weights weights;
    stream.wait();
    stream.copy_v(step + stages - 1);
    if (has_rows) {
      Scores scores = {};
      multiply_qk(scores, q_fragments, q_warp, stream.k_step(), lane);
      cap.apply(scores);
      if (!seen_by_all.holds_all<Shape::kStep>(token)) {
        const Range visible[2] = {Visible::to_token(p, tile.sequence, rows.token(row)),
                                  Visible::to_token(p, tile.sequence, rows.token(row + 8))};
        mask_scores<Shape>(scores, visible, NoDraftMask(), token, lane);
      }
      weights = softmax(state, scores, scales);
    }
    stream.wait();
    stream.copy_k(step + stages);
    if (has_rows) multiply_pv(state, weights, stream.v_step(), lane);
    stream.advance();
    if (Shape::kInvariant && ((token + Shape::kStep) % kInvariantSegment == 0 || step + 1 == stream.count()))
      folded.add(state);
  }
}

// Computes one tile. REQUIRES: no thread uses the shared memory any more.
__device__ inline void process_tile(const AttentionPrefillParameters& p, const Tile& tile,
                                    SharedAddress q_shared) {
  const PackedRows rows = tile.rows(p);
  const int first_row = threadIdx.x / 32 * Shape::kWarpRows;
  const Range seen = Visible::to_any_row(p, tile.sequence, rows);
  copy_q<Shape, SwizzledRows<Shape::kRowBytesQ>, Shape::kColumnBytesQ>(p, rows, tile.sequence, tile.head_kv,
                                                                       q_shared);
  async_copy_commit();
  KvStream stream(p, tile, seen, q_shared + Shape::kQBytes);
  stream.fill();
  stream.wait_for_earlier_copies();
  __syncthreads();

  RowState state = {};
  state.maximum[0] = state.maximum[1] = negative_infinity();
  FoldedRowsOf<Shape> folded;
  process_steps(state, folded, stream, p, tile, q_shared, first_row);
  async_copy_wait<0>();
  const SharedAddress staging = q_shared + first_row * Shape::kRowBytesQ;
  if constexpr (Shape::kInvariant) {
    store_tile<Shape::Output>(p, tile, folded, staging, first_row);
  } else {
    store_tile<Shape::Output>(p, tile, state, staging, first_row);
  }
}

extern "C" __global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerSm)
    attention_prefill(const __grid_constant__ AttentionPrefillParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  wait_for_prerequisites();
  launch_dependents();

  const SharedAddress q_shared = shared_address(shared);
  const SharedAddress next_shared = q_shared + Shape::kQBytes + Shape::kRingBytes;
  int index = static_cast<int>(blockIdx.x);
  Tile tile;
#pragma unroll 1
  while (find_tile<Shape>(p, index, tile)) {
    int next = 0;
    if (threadIdx.x == 0) next = static_cast<int>(gridDim.x) + add_global(p.counters, 1);
    process_tile(p, tile, q_shared);
    if (threadIdx.x == 0) store_shared_4(next_shared, static_cast<unsigned>(next));
    __syncthreads();
    index = static_cast<int>(load_shared_4(next_shared));
  }
  if (threadIdx.x == 0) release_counters(p);
}

}  // namespace cubinet::attention_prefill
