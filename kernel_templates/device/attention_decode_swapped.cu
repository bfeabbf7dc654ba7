// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_decode_swapped",
  "interface": 2,
  "summary": "Decode attention over a paged KV cache of e4m3: KV is converted in registers and is the wide operand of the products (swapAB)",
  "base": "attention_decode.base.json",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_kv", "values": ["e4m3"], "default": "e4m3",
     "summary": "element type of K and V, which are multiplied as fp16"},
    {"name": "dtype_o", "summary": "element type of the output"},
    {"name": "tile_size_q", "values": [32, 48, 64, 96], "default": 32},
    {"name": "tile_size_kv", "summary": "KV tokens of one step"},
    {"name": "stages", "default": 3}
  ],
  "constraints": [
    {"require": "tile_size_q == 32 || head_dim_qk <= 128 && head_dim_v <= 128",
     "message": "tile_size_q above 32 needs head_dim_qk and head_dim_v of at most 128: a thread has no registers for more"}
  ],
  "kernels": [
    {"name": "attention_decode_swapped",
     "threads": "128",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + max(tile_size_kv * (stages * (head_dim_qk + head_dim_v) + 4 * tile_size_q), tile_size_q * (head_dim_v + 10) * 4) + tile_size_q * 36 + 80 + 256 * max(64 / page_size, 1) * (separate_page_tables ? 2 : 1)",
     "parameter_bytes": 384,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks * heads_kv",
     "programmatic_launch": true}
  ],
  "row": {
    "kernel_type": "'swaps'"
  }
}
*/
// Grid: parameters.blocks * heads_kv CTAs. Work division and partial results are those of
// attention_decode. KV is the wide operand of Hopper's wgmma (swapAB): S^T = K Q^T and O^T += V^T
// P^T.
//
// A CTA is one warpgroup of 128 threads. All threads copy 64 tokens at a time, unconverted, into
// one ring of stages. Each warp converts its part in the registers that feed wgmma: 16 of the 64
// tokens of S^T, and 16 of each 64 columns of V for O^T. All four warps share the rows of Q and the
// softmax weights in shared memory, and use the same softmax offsets.
#include <cubinet/attention/merge.cuh>
#include <cubinet/attention/store_tile.cuh>
#include <cubinet/attention/work_division.cuh>
#include <cubinet/attention_decode_swapped/mask.cuh>
#include <cubinet/attention_decode_swapped/product.cuh>
#include <cubinet/attention_decode_swapped/q.cuh>
#include <cubinet/attention_decode_swapped/shape.cuh>
#include <cubinet/attention_decode_swapped/softmax.cuh>
#include <cubinet/attention_decode_swapped/stream.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention_decode_swapped {

using MergeBuffer = MergeBufferOf<Shape, false>;
using WorkDivision = WorkDivisionOf<Shape>;

// The work division and the work item. They are stored in shared memory during the loop over KV,
// which has no registers for them.
struct SpilledWork {
  WorkDivision division;
  WorkItem item;
};
static_assert(sizeof(SpilledWork) + 4 <= kSpillBytes, "it fits its memory beside the flag");

__device__ inline int block_of_head(const AttentionDecodeParameters& p) {
  // Adjacent CTAs process the KV heads of the same tokens.
  return p.heads_kv.quotient(static_cast<int>(blockIdx.x));
}
__device__ inline int head_of_block(const AttentionDecodeParameters& p) {
  return static_cast<int>(blockIdx.x) - block_of_head(p) * p.heads_kv.divisor;
}

// Processes all slices of a work item. K of the next slice is loaded while V of the current one is
// multiplied.
__device__ inline void process_slices(ColumnState& state, SwappedStream& stream,
                                      const LaneAddresses& addresses, const TileMask& mask,
                                      const ColumnSoftmax& softmax, const SharedLayout& layout) {
  // The barrier in `wait` also makes the Q and the masks of other threads visible.
  stream.wait();
  RawK raw_k;
  raw_k.load(addresses.k + stream.offset());
  stream.refill(0);
#pragma unroll 1
  for (int i = 0; i < stream.count(); ++i) {
    Scores scores;
    multiply_qk(scores, raw_k, layout.q());
    softmax.cap(scores);
    mask.apply(scores, stream.token(i));
    // The weights alternate between two buffers, because a warp may still multiply the previous
    // ones.
    softmax.update(state, scores, addresses.weights + (i & 1) * kWeightBytes, i == 0);
    RawV raw_v;
    raw_v.load(addresses.v + stream.offset());
    FragmentsV v(raw_v);
    start_pv(state.output, v, layout.weights(i & 1));
    stream.advance();
    stream.wait();
    raw_k.load(addresses.k + stream.offset());
    stream.refill(i + 1);
    wait_for_pv(state.output, v);
  }
}

// Stores the rows in the layout that MergeBuffer loads.
__device__ inline void store_columns(const ColumnState& state, const SharedLayout& layout) {
  const ThreadIndex index;
#pragma unroll
  for (int tile = 0; tile < kTilesN; ++tile) {
    float2 sum = state.sum[tile];
#pragma unroll
    for (int offset = 4; offset < 32; offset *= 2) {
      sum.x += __shfl_xor_sync(kAllLanes, sum.x, offset);
      sum.y += __shfl_xor_sync(kAllLanes, sum.y, offset);
    }
    const int row = tile * 8 + index.lane % 4 * 2;
    if (index.lane < 4) store_shared_floats(layout.exchange(index.warp, row), sum.x, sum.y);
    if (kOffsetsInRegisters && index.warp == 0 && index.lane < 4)
      store_shared_floats(layout.offset(row), state.offset[tile].x, state.offset[tile].y);
  }
  async_copy_wait<0>();
  __syncthreads();
  const MergeBuffer merge(layout.merge());
#pragma unroll
  for (int tile = 0; tile < kTilesN; ++tile) {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        store_shared_floats(merge.output(tile * 8 + index.lane % 4 * 2 + i) +
                                4 * (m * 64 + index.warp * 16 + index.lane / 4 * 2),
                            state.output[m][tile].r[i], state.output[m][tile].r[2 + i]);
    }
  }
  const int row = index.warp * 32 + index.lane;
  if (row < tile_size_q) {
    float sum = 0.0f;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp)
      sum += load_shared_float(layout.exchange(warp, row));
    const float offset = load_shared_float(layout.offset(row));
    merge.store_extremes(row, offset == ColumnState::kNothing ? negative_infinity() : offset, sum);
  }
  __syncthreads();
}

__device__ inline void process_item(const AttentionDecodeParameters& p, SpilledWork& work,
                                    const SharedLayout& layout) {
  if (threadIdx.x == 0) store_shared_object(layout.spill(), work);
  {
    const Sequence& sequence = work.item.sequence;
    const PackedRows rows = WorkDivision::rows_of(p, work.item);
    const int head = head_of_block(p);
    const Range seen = VisibleOf<Shape>::to_any_row(p, sequence, rows);
    const Range range = WorkDivision::tokens_of<kSlice>(p, work.item, seen);
    SwappedStream stream(p, sequence, head, {warp_uniform(range.begin), warp_uniform(range.end)},
                         warp_uniform(seen.begin), layout);
    const TileQ q(p, rows, sequence, head);  // before KV: after it, Q arrives 3 us later
    stream.fill();
    const float q_scale = q.store(layout);
    fence_async_proxy();
    const TileMask mask(p, rows, sequence, layout);
    const LaneAddresses addresses(layout, ThreadIndex());
    const float scale = softmax_scale_log2<Shape::kHasHeadScales>(p, sequence.index, head);
    const ColumnSoftmax softmax(p, layout, warp_uniform(scale * q_scale * kE4m3Scale));
    ColumnState state;
    process_slices(state, stream, addresses, mask, softmax, layout);
    store_columns(state, layout);
  }
  load_shared_object(layout.spill(), work);
  work.division = work.division.of_this_lane();
  store_work_item(p, MergeBuffer(layout.merge()), WorkDivision::rows_of(p, work.item), work.division,
                  work.item, head_of_block(p));
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(Shape::kThreads, kBlocksPerSm)
    attention_decode_swapped(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups<Shape>(p);
  wait_for_prerequisites();
  launch_dependents();

  const SharedLayout layout{shared_address(shared)};
  SpilledWork work{WorkDivision(p, block_of_head(p)), {Sequence(p, 0)}};
  if (work.division.begin() >= work.division.end()) return;
  work.item = work.division.item(p, work.division.begin());
#pragma unroll 1
  for (;;) {
    process_item(p, work, layout);
    if (work.item.end >= work.division.end()) return;
    work.item = work.division.next(p, work.item);
  }
}

}  // namespace cubinet::attention_decode_swapped
