// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_latent_narrow",
  "interface": 2,
  "summary": "Decode attention of few latent heads (576/512, V is the first 512 columns of K) over a paged KV cache: KV is the wide operand of the products (swapAB)",
  "base": "attention_decode.base.json",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_kv", "summary": "element type of KV: dtype_q, or e4m3"},
    {"name": "dtype_o", "summary": "element type of the output"},
    {"name": "head_dim_qk", "values": [576], "default": 576},
    {"name": "head_dim_v", "values": [512], "default": 512,
     "summary": "elements of a row of the output; V is the first 512 elements of a row of K"},
    {"name": "tile_size_q", "values": [16], "summary": "rows of the Q tile: query heads times query tokens"},
    {"name": "stages", "maximum": 8, "default_expression": "dtype_kv == 'e4m3' ? 5 : 8",
     "summary": "stages of the ring in shared memory; a stage holds 64 tokens (a step) of e4m3 KV, or a third of the columns of 64 tokens of 16-bit KV"},
    {"name": "sliding_window", "summary": "a query sees only the newest tokens; must be false"},
    {"name": "soft_cap", "summary": "logits are bounded by a tanh; must be false"},
    {"name": "separate_page_tables", "summary": "K and V have separate page tables; must be false"}
  ],
  "constraints": [
    {"require": "dtype_kv == 'e4m3' ? stages <= 5 : stages >= 4",
     "message": "stages must be at most 5 with KV of e4m3, whose stages hold a whole step, and at least 4 with KV of 16 bits"},
    {"require": "mask != 'custom'",
     "message": "mask must be causal or dense: attention_wide supports custom masks"},
    {"require": "!sliding_window",
     "message": "sliding_window must be false: attention_wide supports windows"},
    {"require": "!soft_cap",
     "message": "soft_cap must be false: attention_wide supports soft caps"},
    {"require": "!separate_page_tables",
     "message": "separate_page_tables must be false: latent attention has one pool"}
  ],
  "kernels": [
    {"name": "attention_latent_narrow",
     "threads": "640",
     "dynamic_shared_bytes": "stages * (dtype_kv == 'e4m3' ? 36864 + 16 : 24576 + 16) + tile_size_q * (head_dim_qk * 2 + 820) + 168",
     "parameter_bytes": 384,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks",
     "programmatic_launch": true}
  ],
  "row": {
    "mask": "mask"
  }
}
*/
// Grid: parameters.blocks CTAs. Work division and partial results are those of attention_decode.
//
// The 16 rows of Q are the narrow operand of the products (swapAB): S^T = K Q^T and O^T = V^T P^T.
// A CTA has five warpgroups (640 threads). Warpgroup 0 is the producer: it finds the work items,
// copies KV and runs ahead into the next item. Warpgroup 1 computes the scores. Warpgroup 2
// computes the softmax. Warpgroups 3 and 4 accumulate the output; each of their warps has 64
// columns. All of them work on the same 16 rows. One __syncthreads() follows the initialisation of
// the mbarriers in shared memory, through which the warpgroups synchronize from then on. Warpgroup
// 1 has a named barrier of its own for the load of Q. Warpgroups 3 and 4 share one for the
// combination of partial results.
#include <cubinet/attention_latent_narrow/output.cuh>
#include <cubinet/attention_latent_narrow/producer.cuh>
#include <cubinet/attention_latent_narrow/scores.cuh>
#include <cubinet/attention_latent_narrow/shape.cuh>
#include <cubinet/attention_latent_narrow/softmax.cuh>
#include <cubinet/pdl.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_latent_narrow {

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    attention_latent_narrow(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups<Shape>(p);
  const SharedLayout layout{shared_address(shared)};
  if (threadIdx.x == kFirstOutputThread) layout.init();
  __syncthreads();
  wait_for_prerequisites();
  launch_dependents();

  const int role = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  if (role == 0) {
    Producer(p, layout).run();
  } else if (role == 1) {
    ScoreWarpgroup scores(p, layout);
    ItemReader(layout).for_each(p, [&](const SentItem& item) { scores.process(item); });
  } else if (role == 2) {
    SoftmaxWarpgroup softmax(p, layout);
    ItemReader(layout).for_each(p, [&](const SentItem& item) { softmax.process(item); });
  } else {
    OutputWarpgroups output(p, layout);
    ItemReader(layout).for_each(p, [&](const SentItem& item) { output.process(item); });
  }
}

}  // namespace cubinet::attention_latent_narrow
