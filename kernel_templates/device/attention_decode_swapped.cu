// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_decode_swapped",
  "interface": 1,
  "summary": "Decode attention over a paged KV cache of e4m3 by warpgroups that multiply KV from registers",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of Q"},
    {"name": "dtype_kv", "type": "dtype", "values": ["e4m3"], "default": "e4m3",
     "summary": "element type of K and V, which are multiplied as fp16"},
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default": "bf16",
     "summary": "element type of the output"},
    {"name": "head_dim_qk", "type": "int", "values": [64, 128, 256],
     "summary": "elements of a row of Q and K"},
    {"name": "head_dim_v", "type": "int", "values": [64, 128, 256],
     "summary": "elements of a row of V and of the output"},
    {"name": "tile_size_q", "type": "int", "values": [32, 48, 64, 96], "default": 32,
     "summary": "rows of the Q tile: query heads of one KV head times query tokens"},
    {"name": "tile_size_kv", "type": "int", "values": [64], "default": 64,
     "summary": "KV tokens of one step"},
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
    {"require": "tile_size_q == 32 || head_dim_qk <= 128 && head_dim_v <= 128",
     "message": "tile_size_q above 32 needs head dims to 128: a thread has registers for no more"},
    {"require": "!sliding_window || mask != 'dense'",
     "message": "sliding_window needs mask causal or custom: the window ends at the query's own position"},
    {"require": "sliding_window || mask != 'custom'",
     "message": "mask custom needs sliding_window: one kernel serves with a window and without"}
  ],
  "kernels": [
    {"name": "attention_decode_swapped",
     "threads": "128",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + max(tile_size_kv * (stages * (head_dim_qk + head_dim_v) + 4 * tile_size_q), tile_size_q * (head_dim_v + 10) * 4) + tile_size_q * 36 + 80 + 256 * max(64 / page_size, 1) * (separate_page_tables ? 2 : 1)",
     "parameter_bytes": 344,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks * heads_kv",
     "programmatic_launch": true},
    {"name": "attention_decode_swapped_reduce",
     "threads": "128",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 344,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "(heads_q, q_len, batch)",
     "programmatic_launch": true}
  ],
  "row": {
    "qkv_layout": "'paged_kv'",
    "kernel_type": "'swaps'",
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
// As `attention_decode`, whose division of work, slots of partial results and second kernel it has, with KV as the wide
// side of Hopper's products: S^T = K Q^T and O^T += V^T P^T. A block is one warpgroup; it copies 64 tokens at a time as
// they are, and converts them in the registers from which they are multiplied.
#include <cubinet/attention_swapped_shape.cuh>

#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_merge.cuh>
#include <cubinet/attention_decode_reduce.cuh>
#include <cubinet/attention_swapped_product.cuh>
#include <cubinet/attention_swapped_q.cuh>
#include <cubinet/attention_swapped_softmax.cuh>
#include <cubinet/attention_swapped_stream.cuh>
#include <cubinet/attention_swapped_view.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention {

// What the loop over the KV has no registers for: it is in shared memory meanwhile.
struct BlockWork {
  WorkDivision division;
  Piece piece;
};
static_assert(sizeof(BlockWork) + 4 <= kKeptBytes, "it has its place beside the flag");

__device__ inline int block_of_head(const AttentionDecodeParameters& p) {
  return p.heads_kv.quotient(static_cast<int>(blockIdx.x));  // the KV heads of the same tokens run side by side
}
__device__ inline int head_of_block(const AttentionDecodeParameters& p) {
  return static_cast<int>(blockIdx.x) - block_of_head(p) * p.heads_kv.divisor;
}

// All slices of a piece. K of a slice is loaded while V of the one before is multiplied.
__device__ inline void multiply_slices(ColumnState& state, SwappedStream& stream, const LanePlaces& places,
                                       const TileView& view, const ColumnSoftmax& softmax, const SharedLayout& layout) {
  // Behind the barrier of `reach` the threads also see what others wrote of Q and the view.
  stream.reach();
  RawK raw_k;
  raw_k.load(places.k + stream.offset());
  stream.refill(0);
#pragma unroll 1
  for (int i = 0; i < stream.count(); ++i) {
    Scores scores;
    multiply_qk(scores, raw_k, layout.q());
    softmax.cap(scores);
    view.mask(scores, stream.token(i));
    // Two places: a warp may still multiply the weights before these.
    softmax.weigh(state, scores, places.weights + (i & 1) * kWeightBytes, i == 0);
    RawV raw_v;
    raw_v.load(places.v + stream.offset());
    FragmentsV v(raw_v);
    start_pv(state.output, v, layout.weights(i & 1));
    stream.advance();
    stream.reach();
    raw_k.load(places.k + stream.offset());
    stream.refill(i + 1);
    wait_for_pv(state.output, v);
  }
}

// The rows as MergeBuffer takes them.
__device__ inline void put_columns(const ColumnState& state, const SharedLayout& layout) {
  const ThreadPlace place;
#pragma unroll
  for (int tile = 0; tile < kTilesN; ++tile) {
    float2 sum = state.sum[tile];
#pragma unroll
    for (int offset = 4; offset < 32; offset *= 2) {
      sum.x += __shfl_xor_sync(kAllLanes, sum.x, offset);
      sum.y += __shfl_xor_sync(kAllLanes, sum.y, offset);
    }
    const int row = tile * 8 + place.lane % 4 * 2;
    if (place.lane < 4) store_shared_floats(layout.exchange(place.warp, row), sum.x, sum.y);
    if (kOffsetsInRegisters && place.warp == 0 && place.lane < 4)
      store_shared_floats(layout.offset(row), state.offset[tile].x, state.offset[tile].y);
  }
  async_copy_wait<0>();
  __syncthreads();
  const MergeBuffer<false> merge(layout.merge());
#pragma unroll
  for (int tile = 0; tile < kTilesN; ++tile) {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        store_shared_floats(merge.output(tile * 8 + place.lane % 4 * 2 + i) +
                                4 * (m * 64 + place.warp * 16 + place.lane / 4 * 2),
                            state.output[m][tile].r[i], state.output[m][tile].r[2 + i]);
    }
  }
  const int row = place.warp * 32 + place.lane;
  if (row < tile_size_q) {
    float sum = 0.0f;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp)
      sum += load_shared_float(layout.exchange(warp, row));
    const float offset = load_shared_float(layout.offset(row));
    merge.put_extremes(row, offset == ColumnState::kNothing ? negative_infinity() : offset, sum);
  }
  __syncthreads();
}

__device__ inline void do_piece(const AttentionDecodeParameters& p, BlockWork& work, const SharedLayout& layout) {
  if (threadIdx.x == 0) store_shared_object(layout.kept(), work);
  {
    const Sequence& sequence = work.piece.sequence;
    const PackedRows rows = rows_of(p, work.piece);
    const int head = head_of_block(p);
    const KvRange seen{visible_to(p, sequence, rows.token(0)).begin,
                       visible_to(p, sequence, rows.token(tile_size_q - 1)).end};
    const KvRange range = range_of<kSlice>(p, work.piece, seen);
    SwappedStream stream(p, sequence.index, head, {of_warp(range.begin), of_warp(range.end)}, of_warp(seen.begin), layout);
    const TileQ q(p, rows, sequence, head);  // behind all of KV's first slices it would come 3 us later
    stream.fill();
    const float q_scale = q.store(layout);
    fence_async_proxy();
    const TileView view(p, rows, sequence, layout);
    const LanePlaces places(layout, ThreadPlace());
    const ColumnSoftmax softmax(p, layout, of_warp(softmax_scale_log2(p) * q_scale * kE4m3Scale));
    ColumnState state;
    multiply_slices(state, stream, places, view, softmax, layout);
    put_columns(state, layout);
  }
  load_shared_object(layout.kept(), work);
  work.division = work.division.of_this_lane();
  store_piece(p, MergeBuffer<false>(layout.merge()), rows_of(p, work.piece), work.division, work.piece, head_of_block(p));
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    attention_decode_swapped(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups(p);
  wait_for_prerequisites();
  launch_dependents();

  const SharedLayout layout{shared_address(shared)};
  BlockWork work{WorkDivision(p, block_of_head(p)), {Sequence(p, 0)}};
#pragma unroll 1
  for (int unit = work.division.begin(); unit < work.division.end(); unit = work.piece.end) {
    work.piece = work.division.piece(p, unit);
    do_piece(p, work, layout);
  }
}

static_assert(attention_decode_swapped_reduce_threads == kReduceThreads,
              "the host's formula of the block size differs");
static_assert(attention_decode_swapped_reduce_shared_bytes == 0, "the reduction uses static shared memory alone");

extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceBlocksPerSm)
    attention_decode_swapped_reduce(const __grid_constant__ AttentionDecodeParameters p) {
  reduce_output_row(p);
}

}  // namespace cubinet::attention
