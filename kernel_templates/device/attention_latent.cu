// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_latent",
  "interface": 1,
  "summary": "Decode attention of latent heads (576/512, V is K's first columns) over a paged KV cache: products of warpgroups",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of Q"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of KV: dtype_q, or e4m3, which is converted to fp16 once for all rows"},
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "fp32", "e4m3"], "default": "bf16",
     "summary": "element type of the output"},
    {"name": "head_dim_qk", "type": "int", "values": [576], "default": 576,
     "summary": "elements of a row of Q and K"},
    {"name": "head_dim_v", "type": "int", "values": [512], "default": 512,
     "summary": "elements of a row of the output: so many of K's are V"},
    {"name": "tile_size_q", "type": "int", "values": [16, 32, 64], "default": 64,
     "summary": "rows of the Q tile: query heads times query tokens"},
    {"name": "tile_size_kv", "type": "int", "values": [64], "default": 64,
     "summary": "KV tokens of one slice"},
    {"name": "stages", "type": "int", "minimum": 2, "maximum": 2, "default": 2,
     "summary": "slices that are in shared memory or under way to it"},
    {"name": "cluster_size", "type": "int", "values": [1, 2], "default": 1,
     "summary": "thread blocks of a cluster: each has a tile of a sequence, and brings a part of its KV for both"},
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
    {"require": "mask != 'custom'", "message": "mask must be causal or dense: attention_wide has packed masks"},
    {"require": "!sliding_window", "message": "sliding_window must be false: attention_wide has windows"},
    {"require": "!soft_cap", "message": "soft_cap must be false: attention_wide has soft caps"},
    {"require": "!separate_page_tables",
     "message": "separate_page_tables must be false: latent attention has one pool"}
  ],
  "kernels": [
    {"name": "attention_latent",
     "threads": "384",
     "dynamic_shared_bytes": "tile_size_q * head_dim_qk * 2 + stages * tile_size_kv * head_dim_qk * 2 + (dtype_kv == 'e4m3' ? 256 : 0) + 9336",
     "parameter_bytes": 344,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks",
     "cluster": ["cluster_size", 1, 1],
     "programmatic_launch": true},
    {"name": "attention_latent_reduce",
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
    "step_q": "tile_size_q * cluster_size",
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
// Grid of attention_latent: parameters.blocks. Each block takes an equal part of the KV of all sequences, piece by
// piece; what several blocks computed of a tile is brought together as in attention_decode.
//
// A block is three warpgroups that meet at barriers in shared memory alone: one copies Q and slices of KV, two
// multiply. Each of these has the scores of every other slice and half of the output's columns of all of them,
// since 512 columns of 64 rows do not fit the registers of one; while one weighs its scores, the other multiplies.
#include <cubinet/attention_latent_shape.cuh>

#include <cubinet/attention_decode_reduce.cuh>
#include <cubinet/attention_latent_boxes.cuh>
#include <cubinet/attention_latent_convert.cuh>
#include <cubinet/attention_latent_products.cuh>
#include <cubinet/pdl.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention {

template <bool kConverts, bool kInClusters>
struct CopierOf {
  using Type = Converter;
};
template <>
struct CopierOf<false, false> {
  using Type = Copier;
};
template <>
struct CopierOf<false, true> {
  using Type = BoxCopier;
};

extern "C" __global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(kClusterSize, 1, 1)
    attention_latent(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups(p);
  const SharedLayout layout{shared_address(shared)};
  if (threadIdx.x == 0) layout.init();
  wait_for_prerequisites();
  launch_dependents();
  if constexpr (kClusterSize == 1) {
    __syncthreads();
  } else {
    synchronize_cluster();
  }

  const int block = static_cast<int>(blockIdx.x);
  const int role = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  if (role == 0) {
    give_registers<kCopyRegisters>();
    const WorkDivision division(p, block);
    CopierOf<kConvertsKv, (kClusterSize > 1)>::Type copier(p, layout);
    for_each_piece(p, division, [&](const Piece& piece, const PackedRows& rows, const PieceTokens& tokens) {
      copier.piece(piece, rows, tokens);
    });
    async_copy_wait<0>();
  } else {
    take_registers<kProductRegisters>();
    const WorkDivision division(p, block);
    Multiplier multiplier(p, layout, role - 1);
    for_each_piece(p, division, [&](const Piece& piece, const PackedRows& rows, const PieceTokens& tokens) {
      multiplier.piece(division, piece, rows, tokens);
    });
  }
  // A block's shared memory and barriers are there until the others' last arrivals have come.
  if constexpr (kClusterSize > 1) finish_in_cluster();
}

static_assert(attention_latent_reduce_threads == kReduceThreads,
              "the host's formula of the block size differs");

extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceBlocksPerSm)
    attention_latent_reduce(const __grid_constant__ AttentionDecodeParameters p) {
  reduce_output_row(p);
}

}  // namespace cubinet::attention
