// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_decode_wgmma",
  "interface": 1,
  "summary": "Decode attention over a paged KV cache, tiles of 64 rows: products of warpgroups",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of Q"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of K and V: dtype_q, or e4m3, which is converted to fp16 once for all rows"},
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default": "bf16",
     "summary": "element type of the output"},
    {"name": "head_dim_qk", "type": "int", "values": [64, 128, 256],
     "summary": "elements of a row of Q and K"},
    {"name": "head_dim_v", "type": "int", "values": [64, 128, 256],
     "summary": "elements of a row of V and of the output"},
    {"name": "tile_size_q", "type": "int", "values": [64], "default": 64,
     "summary": "rows of the Q tile: query heads of one KV head times query tokens"},
    {"name": "tile_size_kv", "type": "int", "values": [64], "default": 64,
     "summary": "KV tokens of one step"},
    {"name": "stages", "type": "int", "minimum": 2, "maximum": 6, "default": 2,
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
    {"require": "!sliding_window || mask != 'dense'",
     "message": "sliding_window needs mask causal or custom: the window ends at the query's own position"},
    {"require": "sliding_window || mask != 'custom'",
     "message": "mask custom needs sliding_window: one kernel serves with a window and without"}
  ],
  "kernels": [
    {"name": "attention_decode_wgmma",
     "threads": "128 * (dtype_kv == 'e4m3' && head_dim_qk == 64 && head_dim_v == 64 && page_size >= 64 && !sliding_window && !soft_cap && !separate_page_tables && dtype_o != 'fp32' ? 2 : 1)",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + (dtype_kv == 'e4m3' && head_dim_qk == 64 && head_dim_v == 64 && page_size >= 64 && !sliding_window && !soft_cap && !separate_page_tables && dtype_o != 'fp32' ? 2 : 1) * max(tile_size_kv * (head_dim_qk + head_dim_v) * (stages * bytes(dtype_kv) + (dtype_kv == 'e4m3' ? 2 : 0)), tile_size_q * (head_dim_v + 10) * 4) + (dtype_kv == 'e4m3' ? tile_size_q * 4 : 0) + (dtype_kv == 'e4m3' && head_dim_qk == 64 && head_dim_v == 64 && page_size >= 64 && !sliding_window && !soft_cap && !separate_page_tables && dtype_o != 'fp32' ? 64 : 0)",
     "parameter_bytes": 344,
     "programmatic_launch": true},
    {"name": "attention_decode_wgmma_reduce",
     "threads": "128",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 344,
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
// As `attention_decode`, whose division of work, slots of partial results and second kernel it has, on
// Hopper's own instructions: a warpgroup multiplies 64 rows with 64 tokens at a time, from rings of shared
// memory that it fills itself while products are under way.
#include <cubinet/attention_wgmma_shape.cuh>

#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_merge.cuh>
#include <cubinet/attention_decode_q.cuh>
#include <cubinet/attention_decode_reduce.cuh>
#include <cubinet/attention_wgmma_convert.cuh>
#include <cubinet/attention_wgmma_product.cuh>
#include <cubinet/attention_wgmma_stream.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention {

template <bool kConverts>
struct StreamOf {
  using Type = WarpgroupStream;
};
template <>
struct StreamOf<true> {
  using Type = ConvertedStream;
};
using SliceStream = StreamOf<kConvertsKv>::Type;

// Of the rows of Q that were converted.
__device__ inline SharedAddress q_scales(SharedAddress q_shared) {
  return q_shared + kQBytes + kWorkBytes;
}

// All slices of one warpgroup. `first_row` is this warp's first row of the tile.
__device__ inline void consume(RowState& state, SliceStream& stream, const AttentionDecodeParameters& p,
                               const PackedRows& rows, const Sequence& sequence, SharedAddress q_shared,
                               int first_row) {
  const int lane = threadIdx.x % 32;
  const KvRange visible[2] = {visible_to(p, sequence, rows.token(first_row + lane / 4)),
                              visible_to(p, sequence, rows.token(first_row + lane / 4 + 8))};
  const KvRange seen_by_all{
      visible_to(p, sequence, rows.token(tile_size_q - 1)).begin,
      kCustomMask ? sequence.length - sequence.q_len : visible_to(p, sequence, rows.token(0)).end};
  const DraftMask draft_mask(p, sequence, rows, first_row + lane / 4);
  float scale_log2[2];
  scale_log2[0] = scale_log2[1] = p.softmax_scale_address != 0
                                      ? fmaxf(load_global_float(p.softmax_scale_address), 0.0f)
                                      : p.softmax_scale_log2;
  if constexpr (kConvertsKv) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      scale_log2[half] *=
          kE4m3Scale * load_shared_float(q_scales(q_shared) + 4 * (first_row + lane / 4 + 8 * half));
  }
  const SoftCap<soft_cap> soft_cap_of_rows(p, scale_log2);
  Weights weights{};
#pragma unroll 1
  for (int i = 0; i < stream.count(); ++i) {
    const int token = stream.token(i);
    FragmentD scores[kTilesS];
    stream.prepare_k();
    wgmma_wait<0>(state.output, weights.steps);
    stream.reach_k();
    start_qk(scores, q_shared, stream.k_slice());
    stream.work_beside_qk(i);
    wgmma_wait<0>(scores);

    soft_cap_of_rows.apply(scores);
    if (!seen_by_all.holds_slice(token)) mask_scores(scores, visible, draft_mask, token, lane);
    weights = softmax(state, scores, scale_log2);

    stream.reach_v();
    start_pv(state, weights, stream.v_slice());
    stream.work_beside_pv(i);
  }
  wgmma_wait<0>(state.output, weights.steps);
}

// Q and the first slices.
template <typename Stream>
__device__ inline void bring_first(Stream& stream, const AttentionDecodeParameters& p, const PackedRows& rows,
                                   const Sequence& sequence, int head_kv, SharedAddress q_shared) {
  if constexpr (kConvertsKv) {
    QConversion<LayoutQ, false> conversion(p, rows, sequence, head_kv);
    stream.fill();
    conversion.finish(q_shared, q_scales(q_shared));
  } else {
    copy_q<LayoutQ>(p, rows, sequence, head_kv, q_shared);
    async_copy_commit();
    stream.fill();
    stream.wait_for_what_preceded();
  }
}

// One piece of the block's work, in memory that nobody reads or writes any more. `store` is called with its sums and
// the tile's rows.
template <typename Store>
__device__ inline void compute(const AttentionDecodeParameters& p, const Piece& piece, int head_kv,
                               SharedAddress q_shared, const Store& store) {
  const Sequence& sequence = piece.sequence;
  const PackedRows rows{p.group, p.group.divisor * sequence.q_len, piece.q_tile * tile_size_q};
  const int first_row = threadIdx.x / 32 % kWarpsQ * kWarpRows;
  const KvRange seen{visible_to(p, sequence, rows.token(0)).begin,
                     visible_to(p, sequence, rows.token(tile_size_q - 1)).end};
  SliceStream stream(p, sequence.index, head_kv, range_of<kSlice>(p, piece, seen), seen.begin, q_shared + kQBytes);
  bring_first(stream, p, rows, sequence, head_kv, q_shared);
  __syncthreads();

  RowState state{};
  state.maximum[0] = state.maximum[1] = negative_infinity();
  consume(state, stream, p, rows, sequence, q_shared, first_row);

  async_copy_wait<0>();
  __syncthreads();
  const MergeBuffer<false> merge(q_shared + kQBytes);
  merge.put(state, warpgroup_of_block(), first_row, threadIdx.x % 32);
  __syncthreads();
  store(merge, rows);
}

// Work of blocks of one warpgroup.
__device__ inline void do_work(const AttentionDecodeParameters& p, SharedAddress q_shared) {
  const int index = static_cast<int>(blockIdx.x);
  const int block = p.heads_kv.quotient(index);  // the KV heads of the same tokens run side by side
  const int head_kv = index - block * p.heads_kv.divisor;
  const WorkDivision division(p, block);
#pragma unroll 1
  for (int unit = division.begin(); unit < division.end();) {
    const Piece piece = division.piece(p, unit);
    compute(p, piece, head_kv, q_shared, [&](const MergeBuffer<false>& merge, const PackedRows& rows) {
      store_piece(p, merge, rows, division, piece, head_kv);
    });
    unit = piece.end;
    if (unit < division.end()) __syncthreads();
  }
}

// What a block needs again behind its slices: of blocks of several warpgroups it lies in shared memory, where their
// loop has no register to spare.
struct Kept {
  WorkDivision division;
  Piece piece;
};
static_assert(sizeof(Kept) <= kKeptOfBlock);

// Read anew where it is needed, for the same reason.
__device__ inline int own_head(const AttentionDecodeParameters& p) {
  int index;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
  return index - p.heads_kv.quotient(index) * p.heads_kv.divisor;
}

__device__ inline void do_shared_work(const AttentionDecodeParameters& p, Kept* kept, SharedAddress q_shared) {
  {
    const WorkDivision division(p, p.heads_kv.quotient(static_cast<int>(blockIdx.x)));
    if (threadIdx.x == 0) {
      kept->division = division;
      kept->piece.end = division.begin();
    }
  }
  __syncthreads();
#pragma unroll 1
  while (kept->piece.end < kept->division.end()) {
    {
      const Piece piece = kept->division.of_this_lane().piece(p, kept->piece.end);
      __syncthreads();
      if (threadIdx.x == 0) kept->piece = piece;
    }
    __syncthreads();
    const Piece piece = kept->piece;
    compute(p, piece, own_head(p), q_shared, [&](const MergeBuffer<false>& merge, const PackedRows&) {
      const Piece again = kept->piece;
      store_piece(p, merge, rows_of(p, again), kept->division.of_this_lane(), again, own_head(p));
    });
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    attention_decode_wgmma(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups(p);
  wait_for_prerequisites();
  launch_dependents();

  if constexpr (kSharesBlock)
    do_shared_work(p, reinterpret_cast<Kept*>(shared + kSharedBytes - kKeptBytes), shared_address(shared));
  else
    do_work(p, shared_address(shared));
}

static_assert(attention_decode_wgmma_reduce_threads == kReduceThreads,
              "the host's formula of the block size differs");
static_assert(attention_decode_wgmma_reduce_shared_bytes == 0,
              "the reduction uses static shared memory alone");

extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceBlocksPerSm)
    attention_decode_wgmma_reduce(const __grid_constant__ AttentionDecodeParameters p) {
  reduce_output_row(p);
}

}  // namespace cubinet::attention
