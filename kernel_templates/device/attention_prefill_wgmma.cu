// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_prefill_wgmma",
  "interface": 3,
  "summary": "Prefill attention over a paged or contiguous KV cache on Hopper: TMA, products by wgmma, persistent blocks",
  "base": "attention_prefill.base.json",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype", "values": ["bf16", "fp16", "e4m3"]},
    {"name": "dtype_o", "values": ["bf16", "fp16", "fp32", "e4m3"]},
    {"name": "tile_size_q", "type": "int", "values": [128, 192], "default": 128,
     "summary": "rows of the Q tile; a warpgroup has 64 of them"},
    {"name": "tile_size_kv", "type": "int", "values": [80, 96, 112, 128, 160, 176, 192, 224], "default": 128,
     "summary": "KV tokens of one step"},
    {"name": "stages", "type": "int", "values": [2], "default": 2,
     "summary": "stages of K and of V in shared memory"},
    {"name": "fold_steps", "type": "int", "values": [0, 2, 4, 8, 16], "default_expression": "dtype == 'e4m3' ? 4 : 0",
     "summary": "steps after which the output of e4m3 products is added to an fp32 copy; 0: never"},
    {"name": "cluster_size", "type": "int", "values": [1, 2], "default": 1,
     "summary": "thread blocks of a cluster, which have adjacent tiles and copy parts of each step to each other"},
    {"name": "numerics", "type": "choice", "values": ["fast", "invariant"], "default": "fast",
     "summary": "invariant: a row has the same bits in every batch and in every kernel with invariant numerics (docs/arithmetic.md)"}
  ],
  "constraints": [
    {"require": "dtype != 'e4m3' || (head_dim_qk == 64 || head_dim_qk == 128) && head_dim_v == head_dim_qk",
     "message": "dtype e4m3 needs head dims 64 or 128"},
    {"require": "dtype == 'e4m3' ? tile_size_kv % 32 == 0 : tile_size_kv != 160 && tile_size_kv != 224",
     "message": "tile_size_kv must be a multiple of 32 with dtype e4m3, and not 160 or 224 with 16 bits"},
    {"require": "dtype == 'e4m3' || head_dim_qk > 64 && head_dim_qk < 128 || tile_size_kv == 80 || tile_size_kv == 128 || tile_size_kv == 176",
     "message": "tile_size_kv must be 80, 128 or 176 with 16 bits and a head dim that is a multiple of 64"},
    {"require": "dtype_o != 'e4m3' || dtype == 'e4m3'",
     "message": "dtype_o e4m3 needs dtype e4m3"},
    {"require": "cluster_size == 1 || tile_size_q == 128",
     "message": "cluster_size 2 needs tile_size_q 128: the producer of three consumers lacks the registers"},
    {"require": "cluster_size == 1 || dtype != 'e4m3' && numerics == 'fast' || !sliding_window && !soft_cap",
     "message": "cluster_size 2 with dtype e4m3 or numerics invariant has neither sliding_window nor soft_cap: the consumers lack the registers"},
    {"require": "fold_steps == 0 || dtype == 'e4m3'",
     "message": "fold_steps needs dtype e4m3: sums of 16-bit products are fp32"},
    {"require": "numerics == 'fast' || dtype != 'e4m3'",
     "message": "numerics invariant needs dtype bf16 or fp16: other kernels do not add products of e4m3 in the same order"},
    {"require": "numerics == 'fast' || head_dim_v <= 128",
     "message": "numerics invariant needs head_dim_v up to 128: a thread has no registers for a segment and the ones before it"},
    {"require": "numerics == 'fast' || tile_size_kv == 128",
     "message": "numerics invariant needs tile_size_kv 128: a step has two halves with a maximum each, and a segment has whole steps"},
    {"require": "numerics == 'fast' || !soft_cap || tile_size_q == 128",
     "message": "numerics invariant with a soft cap needs tile_size_q 128: three consumers have no registers for it"}
  ],
  "kernels": [
    {"name": "attention_prefill_wgmma",
     "threads": "tile_size_q * 2 + 128",
     "dynamic_shared_bytes": "dtype == 'e4m3' ? 512 * tile_size_q / ((head_dim_qk + head_dim_v) * tile_size_kv <= 32768 ? 2 : 4) + stages * ((2 * tile_size_kv + (tile_size_kv + 127) / 128 * head_dim_v) * 128 + 48) + (tile_size_q == 192 && fold_steps > 0 ? tile_size_q * head_dim_v * 4 : 0) + 224 + tile_size_q * ((head_dim_qk + head_dim_v) * tile_size_kv <= 32768 ? 2 : 1) / 4 : (numerics == 'fast' ? 0 : tile_size_q * 4 * (tile_size_q == 192 ? head_dim_v : head_dim_v < 128 ? 0 : head_dim_qk > 128 ? 32 : 64)) + tile_size_q * ((head_dim_qk + 63) / 64 * 64) * (((head_dim_qk + 63) / 64 + (head_dim_v + 63) / 64) * tile_size_kv <= 512 ? 4 : 2) + stages * tile_size_kv * ((head_dim_qk + 63) / 64 + (head_dim_v + 63) / 64) * 128 + 224 + tile_size_q * (((head_dim_qk + 63) / 64 + (head_dim_v + 63) / 64) * tile_size_kv <= 512 ? 2 : 1) / 4 + 40 * stages",
     "parameter_bytes": 768,
     "argument": "cubinet::kernel_templates::AttentionPrefillMapParameters",
     "argument_header": "cubinet/kernel_templates/attention_prefill_parameters.h",
     "grid": "min(tiles of the bounds, SMs)",
     "cluster": ["cluster_size", 1, 1],
     "programmatic_launch": true}
  ],
  "row": {
    "step_q": "tile_size_q * cluster_size",
    "step_kv": "fold_steps == 0 ? tile_size_kv : fold_steps * tile_size_kv",
    "invariant": "numerics == 'invariant'"
  }
}
*/
// Grid: any number of CTAs. A CTA computes one tile of Q after the other. A counter in global
// memory gives each CTA its next tile.
//
// A CTA has one producer warpgroup and two or three consumer warpgroups. Warp 0 of the producer
// copies Q and K with TMA, warp 3 copies V. Warp 1 sets rows of V to zero that no query token sees.
// Warps 1 and 3 transpose V of e4m3, which warp 0 copies. Warp 2 finds the tiles. Each consumer
// warpgroup has 64 rows of the tile. Tiles have four slots in shared memory, K and V have two
// stages, Q has two if they fit. Slots and stages are filled and released through mbarriers.
#include <cubinet/attention_prefill_wgmma/consumer.cuh>
#include <cubinet/attention_prefill_wgmma/transposer.cuh>
#include <cubinet/pdl.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_prefill_wgmma {

extern "C" __global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(kClusterSize, 1, 1)
    attention_prefill_wgmma(const __grid_constant__ AttentionPrefillMapParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const SharedLayout layout{shared_address(shared)};
  prefetch_look_ups(p);
  if (threadIdx.x == 0) layout.init();
  wait_for_prerequisites();
  launch_dependents();
  if constexpr (kClusterSize == 1) {
    __syncthreads();
  } else {
    synchronize_cluster();
  }

  const int warpgroup = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  if (warpgroup == 0) {
    give_registers<kProducerRegisters>();
    const int warp = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / 32, 0);
    if (warp == 0) {
      load_qk_tiles(p, layout);
    } else if (warp == 1) {
      if constexpr (kTransposesV) {
        transpose_tiles(p.p, layout, 0);
      } else {
        clean_tiles(p.p, layout);
      }
    } else if (warp == 2) {
      find_tiles(p.p, layout);
    } else if constexpr (kTransposesV) {
      transpose_tiles(p.p, layout, 1);
    } else {
      load_v_tiles(p, layout);
    }
  } else {
    take_registers<kConsumerRegisters>();
    Consumer(p.p, layout, warpgroup - 1).run();
  }
  if constexpr (kClusterSize > 1) finish_in_cluster();
}

}  // namespace cubinet::attention_prefill_wgmma
