// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_latent",
  "interface": 3,
  "summary": "Decode attention of latent heads (576/512, V is the first 512 columns of K) over a paged KV cache: products by wgmma",
  "base": "attention_decode.base.json",
  "minimum_target": "sm_90a",
  "parameters": [
    {"name": "dtype_kv",
     "summary": "element type of KV: dtype_q, or e4m3, which is converted to fp16 once for all rows (with dtype_q e4m3 only V)"},
    {"name": "dtype_o", "summary": "element type of the output"},
    {"name": "head_dim_qk", "values": [576], "default": 576},
    {"name": "head_dim_v", "values": [512], "default": 512,
     "summary": "elements of a row of the output; V is the first 512 elements of a row of K"},
    {"name": "tile_size_q", "default": 64, "summary": "rows of the Q tile: query heads times query tokens"},
    {"name": "tile_size_kv", "summary": "KV tokens of one slice"},
    {"name": "stages", "maximum": 2,
     "summary": "slices of KV that shared memory holds; with dtype_q e4m3 one more, as they are in memory"},
    {"name": "cluster_size", "type": "int", "values": [1, 2], "default": 1,
     "summary": "thread blocks of a cluster; each processes a tile of one sequence, and each copies half of the KV to both; 1 with dtype_q e4m3"},
    {"name": "sliding_window", "summary": "a query sees only the newest tokens; must be false"},
    {"name": "soft_cap", "summary": "logits are bounded by a tanh; must be false"},
    {"name": "separate_page_tables", "summary": "K and V have separate page tables; must be false"}
  ],
  "constraints": [
    {"require": "mask != 'custom'",
     "message": "mask must be causal or dense: attention_wide supports custom masks"},
    {"require": "!sliding_window",
     "message": "sliding_window must be false: attention_wide supports windows"},
    {"require": "!soft_cap",
     "message": "soft_cap must be false: attention_wide supports soft caps"},
    {"require": "!separate_page_tables",
     "message": "separate_page_tables must be false: latent attention has one pool"},
    {"require": "dtype_q != 'e4m3' || cluster_size == 1",
     "message": "cluster_size must be 1 with dtype_q e4m3: each thread block copies all of its KV"}
  ],
  "kernels": [
    {"name": "attention_latent",
     "threads": "384",
     "dynamic_shared_bytes": "dtype_q == 'e4m3' ? 222344 : tile_size_q * head_dim_qk * 2 + stages * tile_size_kv * head_dim_qk * 2 + (dtype_kv == 'e4m3' ? 256 : 0) + 9336",
     "parameter_bytes": 384,
     "argument": "cubinet::kernel_templates::AttentionDecodeParameters",
     "argument_header": "cubinet/kernel_templates/attention_decode_parameters.h",
     "grid": "blocks",
     "cluster": ["cluster_size", 1, 1],
     "programmatic_launch": true}
  ],
  "row": {
    "mask": "mask",
    "step_q": "tile_size_q * cluster_size"
  }
}
*/
// Grid: parameters.blocks CTAs. Work division and partial results are those of attention_decode.
//
// A CTA has three warpgroups (384 threads): one producer and two consumers. The producer copies KV
// in slices of 64 tokens into two slots, and Q. If KV alone is e4m3, the consumers convert Q
// instead. Each consumer computes the scores of every other slice, and half of the output's columns
// for all slices: 512 columns of 64 rows do not fit the registers of one warpgroup. One consumer
// multiplies while the other computes the softmax. Producer and consumers synchronize through
// mbarriers in shared memory. The consumers exchange the softmax weights through shared memory,
// with named barriers. The two CTAs of a cluster process adjacent tiles of a sequence; each
// producer copies half of every whole slice to both CTAs.
#include <cubinet/attention_latent/box_producer.cuh>
#include <cubinet/attention_latent/consumer.cuh>
#include <cubinet/attention_latent/converting_producer.cuh>
#include <cubinet/attention_latent/e4m3_producer.cuh>
#include <cubinet/attention_latent/e4m3_products.cuh>
#include <cubinet/attention_latent/products.cuh>
#include <cubinet/attention_latent/shape.cuh>
#include <cubinet/pdl.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_latent {

// The parts that differ between kernels.
enum class Kind { copies, copies_boxes, converts, multiplies_e4m3 };
constexpr Kind kKind = kMultipliesE4m3 ? Kind::multiplies_e4m3
                       : kConvertsKv   ? Kind::converts
                       : kCopiesBoxes  ? Kind::copies_boxes
                                       : Kind::copies;
template <class OfProducer, class OfProducts, class OfLayout>
struct PartTypes {
  using Producer = OfProducer;
  using Products = OfProducts;
  using Layout = OfLayout;
};
template <Kind>
struct PartsOf : PartTypes<Producer, Products, SharedLayout> {};
template <>
struct PartsOf<Kind::copies_boxes> : PartTypes<BoxProducer, Products, SharedLayout> {};
template <>
struct PartsOf<Kind::converts> : PartTypes<ConvertingProducer, Products, SharedLayout> {};
template <>
struct PartsOf<Kind::multiplies_e4m3> : PartTypes<E4m3Producer, E4m3Products, E4m3Layout> {};
using Parts = PartsOf<kKind>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 1) __cluster_dims__(kClusterSize, 1, 1)
    attention_latent(const __grid_constant__ AttentionDecodeParameters p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  prefetch_look_ups<Shape>(p);
  const Parts::Layout layout{{shared_address(shared)}};
  if constexpr (kCopiesBoxes) {
    if (BoxProducer::copies_boxes()) BoxProducer::make_map(p, layout.base);
    if (threadIdx.x == kWarpgroup) layout.init();  // meanwhile
  } else if (threadIdx.x == 0) {
    layout.init();
  }
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
    give_registers<kProducerRegisters>();
    const WorkDivision division(p, block);
    Parts::Producer producer(p, layout);
    for_each_item(p, division, [&](const WorkItem& item, const PackedRows& rows, const ItemTokens& tokens) {
      producer.process(item, rows, tokens);
    });
    async_copy_wait<0>();
  } else {
    take_registers<kConsumerRegisters>();
    const WorkDivision division(p, block);
    Consumer<Parts::Products, Parts::Layout> consumer(p, layout, role - 1);
    for_each_item(p, division, [&](const WorkItem& item, const PackedRows& rows, const ItemTokens& tokens) {
      consumer.process(division, item, rows, tokens);
    });
  }
  // Waits for the other CTA: the shared memory and barriers of a CTA must exist until the last
  // arrival of the other CTA.
  if constexpr (kClusterSize > 1) finish_in_cluster();
}

}  // namespace cubinet::attention_latent
