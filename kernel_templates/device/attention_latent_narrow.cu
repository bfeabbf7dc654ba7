// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_latent_narrow",
  "interface": 1,
  "summary": "Decode attention of few latent heads (576/512, V is K's first columns) over a paged KV cache: KV is what has 64 rows",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of Q"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of KV: dtype_q, or e4m3"},
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default": "bf16",
     "summary": "element type of the output"},
    {"name": "head_dim_qk", "type": "int", "values": [576], "default": 576,
     "summary": "elements of a row of Q and K"},
    {"name": "head_dim_v", "type": "int", "values": [512], "default": 512,
     "summary": "elements of a row of the output: so many of K's are V"},
    {"name": "tile_size_q", "type": "int", "values": [16], "default": 16,
     "summary": "rows of the Q tile: query heads times query tokens"},
    {"name": "tile_size_kv", "type": "int", "values": [64], "default": 64,
     "summary": "KV tokens of one step of a thread block"},
    {"name": "stages", "type": "int", "minimum": 2, "maximum": 8, "default_expression": "dtype_kv == 'e4m3' ? 5 : 8",
     "summary": "steps, of 16-bit elements thirds of steps, that are in shared memory or under way to it"},
    {"name": "page_size", "type": "int", "values": [8, 16, 32, 64, 128], "default": 64,
     "summary": "tokens of a page of the KV cache"},
    {"name": "mask", "type": "choice", "values": ["causal", "dense", "custom"], "default": "causal",
     "summary": "causal: the last query token sees all of the KV, each earlier one a token less; custom: by bits"},
    {"name": "sliding_window", "type": "bool", "default": false,
     "summary": "a query sees only the newest tokens: refused"},
    {"name": "soft_cap", "type": "bool", "default": false,
     "summary": "logits are bounded by a tanh: refused"},
    {"name": "separate_page_tables", "type": "bool", "default": false,
     "summary": "K and V are looked up by page tables of their own: refused"}
  ],
  "constraints": [
    {"require": "dtype_kv == dtype_q || dtype_kv == 'e4m3'",
     "message": "dtype_kv must be dtype_q or e4m3: the tensor cores multiply one type, and only e4m3 is converted"},
    {"require": "dtype_kv == 'e4m3' ? stages <= 5 : stages >= 4",
     "message": "stages must be 5 or less with KV of e4m3, which comes step by step, and 4 or more of others"},
    {"require": "mask != 'custom'", "message": "mask must be causal or dense: attention_wide has packed masks"},
    {"require": "!sliding_window", "message": "sliding_window must be false: attention_wide has windows"},
    {"require": "!soft_cap", "message": "soft_cap must be false: attention_wide has soft caps"},
    {"require": "!separate_page_tables",
     "message": "separate_page_tables must be false: latent attention has one pool"}
  ],
  "kernels": [
    {"name": "attention_latent_narrow",
     "threads": "640",
     "dynamic_shared_bytes": "stages * (dtype_kv == 'e4m3' ? 36864 + 16 : 24576 + 16) + tile_size_q * (head_dim_qk * 2 + 820) + 168",
     "parameter_bytes": 344,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks",
     "programmatic_launch": true},
    {"name": "attention_latent_narrow_reduce",
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
    "mask": "mask",
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
// Grid of attention_latent_narrow: parameters.blocks. Each block takes an equal part of the KV of all sequences, piece
// by piece; what several blocks computed of a tile is brought together as in attention_decode.
//
// Few rows are the narrow side of the products: S^T = K Q^T and O^T = V^T P^T. A block is five warpgroups that meet at
// barriers in shared memory alone: one copies KV, and runs ahead into the next piece; one has the scores, one the
// softmax; the warps of two have 64 columns of the output each.
#include <cubinet/attention_narrow_shape.cuh>

#include <cubinet/attention_narrow_copy.cuh>
#include <cubinet/attention_narrow_output.cuh>
#include <cubinet/attention_narrow_scores.cuh>
#include <cubinet/attention_narrow_softmax.cuh>
#include <cubinet/pdl.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention {

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    attention_latent_narrow(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups(p);
  const SharedLayout layout{shared_address(shared)};
  if (threadIdx.x == kFirstOutputThread) layout.init();
  __syncthreads();
  wait_for_prerequisites();
  launch_dependents();

  const int role = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  if (role == 0) {
    Copier(p, layout).run();
  } else if (role == 1) {
    Scorer scorer(p, layout);
    PieceReader(layout).for_each(p, [&](const BlockPiece& piece) { scorer.piece(piece); });
  } else if (role == 2) {
    Weigher weigher(p, layout);
    PieceReader(layout).for_each(p, [&](const BlockPiece& piece) { weigher.piece(piece); });
  } else {
    Accumulator accumulator(p, layout);
    PieceReader(layout).for_each(p, [&](const BlockPiece& piece) { accumulator.piece(piece); });
  }
}

static_assert(attention_latent_narrow_reduce_threads == kReduceThreads,
              "the host's formula of the block size differs");

extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceBlocksPerSm)
    attention_latent_narrow_reduce(const __grid_constant__ AttentionDecodeParameters p) {
  reduce_output_row(p);
}

}  // namespace cubinet::attention
