// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_decode_wgmma",
  "interface": 1,
  "summary": "Decode attention over a paged KV cache of 16 bits, tiles of 64 rows: products of warpgroups",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16"], "default": "bf16",
     "summary": "element type of Q"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16"], "default": "bf16",
     "summary": "element type of K and V: dtype_q"},
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
    {"require": "dtype_kv == dtype_q",
     "message": "dtype_kv must be dtype_q: the tensor cores multiply one type"},
    {"require": "!sliding_window || mask != 'dense'",
     "message": "sliding_window needs mask causal or custom: the window ends at the query's own position"},
    {"require": "sliding_window || mask != 'custom'",
     "message": "mask custom needs sliding_window: one kernel serves with a window and without"}
  ],
  "kernels": [
    {"name": "attention_decode_wgmma",
     "threads": "128",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + max(tile_size_kv * stages * (head_dim_qk + head_dim_v) * 2, tile_size_q * (head_dim_v + 10) * 4)",
     "parameter_bytes": 344,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks * heads_kv",
     "programmatic_launch": true},
    {"name": "attention_decode_wgmma_reduce",
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
// Hopper's own instructions: a block is a warpgroup that multiplies 64 rows with 64 tokens at a time, from rings of
// shared memory that it fills itself while products are under way.
#include <cubinet/attention_wgmma_shape.cuh>

#include <cubinet/attention_decode_division.cuh>
#include <cubinet/attention_decode_merge.cuh>
#include <cubinet/attention_decode_q.cuh>
#include <cubinet/attention_decode_reduce.cuh>
#include <cubinet/attention_wgmma_product.cuh>
#include <cubinet/attention_wgmma_stream.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet::attention {

// This lane's two rows of a piece: what they see, and what becomes of their logits.
class LaneRows {
 public:
  // `first_row` is this warp's first row of the tile.
  __device__ LaneRows(const AttentionDecodeParameters& p, const PackedRows& rows, const Sequence& sequence,
                      int first_row)
      : visible_{visible_to(p, sequence, rows.token(first_row + lane() / 4)),
                 visible_to(p, sequence, rows.token(first_row + lane() / 4 + 8))},
        seen_by_all_{visible_to(p, sequence, rows.token(tile_size_q - 1)).begin,
                     kCustomMask ? sequence.length - sequence.q_len
                                 : visible_to(p, sequence, rows.token(0)).end},
        draft_mask_(p, sequence, rows, first_row + lane() / 4),
        scale_log2_{softmax_scale_log2(p), softmax_scale_log2(p)},
        soft_cap_(p, scale_log2_) {}

  // The logits of a slice before they are weighed.
  __device__ void prepare(FragmentD (&scores)[kTilesS], int token) const {
    soft_cap_.apply(scores);
    if (!seen_by_all_.holds_slice(token)) mask_scores(scores, visible_, draft_mask_, token, lane());
  }
  __device__ const float (&scale_log2() const)[2] { return scale_log2_; }

 private:
  __device__ static int lane() { return threadIdx.x % 32; }

  KvRange visible_[2];
  KvRange seen_by_all_;
  DraftMask draft_mask_;
  float scale_log2_[2];
  SoftCap<soft_cap> soft_cap_;
};

// All slices of a piece.
__device__ inline void multiply_slices(RowState& state, WarpgroupStream& stream, const LaneRows& rows,
                                       SharedAddress q_shared) {
  Weights weights{};
#pragma unroll 1
  for (int i = 0; i < stream.count(); ++i) {
    FragmentD scores[kTilesS];
    wgmma_wait<0>(state.output, weights.steps);
    stream.reach_k();
    start_qk(scores, q_shared, stream.k_slice());
    stream.work_beside_qk(i);
    wgmma_wait<0>(scores);

    rows.prepare(scores, stream.token(i));
    weights = softmax(state, scores, rows.scale_log2());

    stream.reach_v();
    start_pv(state, weights, stream.v_slice());
    stream.work_beside_pv(i);
  }
  wgmma_wait<0>(state.output, weights.steps);
}

__device__ inline void do_piece(const AttentionDecodeParameters& p, const WorkDivision& division,
                                const Piece& piece, int head_kv, SharedAddress q_shared) {
  const Sequence& sequence = piece.sequence;
  const PackedRows rows = rows_of(p, piece);
  const KvRange seen{visible_to(p, sequence, rows.token(0)).begin,
                     visible_to(p, sequence, rows.token(tile_size_q - 1)).end};
  WarpgroupStream stream(p, sequence.index, head_kv, range_of<kSlice>(p, piece, seen), seen.begin,
                         q_shared + kQBytes);
  copy_q<LayoutQ>(p, rows, sequence, head_kv, q_shared);
  async_copy_commit();
  stream.fill();
  stream.wait_for_what_preceded();
  __syncthreads();

  const int first_row = static_cast<int>(threadIdx.x) / 32 * kWarpRows;
  RowState state{};
  state.maximum[0] = state.maximum[1] = negative_infinity();
  multiply_slices(state, stream, LaneRows(p, rows, sequence, first_row), q_shared);
  async_copy_wait<0>();
  __syncthreads();
  const MergeBuffer<false> merge(q_shared + kQBytes);
  merge.put(state, 0, first_row, threadIdx.x % 32);
  __syncthreads();
  store_piece(p, merge, rows, division, piece, head_kv);
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    attention_decode_wgmma(const __grid_constant__ AttentionDecodeParameters p) {
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
    do_piece(p, division, piece, head_kv, shared_address(shared));
    unit = piece.end;
  }
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
