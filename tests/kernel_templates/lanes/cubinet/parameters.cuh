// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the header that the compiler generates: kernels of attention_prefill_wgmma.
#include <cubinet/types.cuh>

namespace cubinet::parameters {

#ifdef CUBINET_LANES_E4M3
using dtype = e4m3;
constexpr int fold_steps = 4;
constexpr int tile_size_kv = 160;  // the last block of transposed tokens is not full
constexpr unsigned attention_prefill_wgmma_shared_bytes = 164192;
#else
using dtype = bf16;
constexpr int fold_steps = 0;
constexpr int tile_size_kv = 128;
#if defined(CUBINET_LANES_TALL)
constexpr unsigned attention_prefill_wgmma_shared_bytes = 115088;
#elif defined(CUBINET_LANES_CAPPED)
constexpr unsigned attention_prefill_wgmma_shared_bytes = 164240;
#elif defined(CUBINET_LANES_INVARIANT)
constexpr unsigned attention_prefill_wgmma_shared_bytes = 229744;
#else
constexpr unsigned attention_prefill_wgmma_shared_bytes = 196976;
#endif
#endif
using dtype_o = bf16;
#ifdef CUBINET_LANES_CAPPED
constexpr bool soft_cap = true;
#else
constexpr bool soft_cap = false;
#endif
#if defined(CUBINET_LANES_CAPPED) || defined(CUBINET_LANES_TALL)
constexpr int head_dim_qk = 64;
constexpr int tile_size_q = 192;
constexpr unsigned attention_prefill_wgmma_threads = 512;
#else
constexpr int head_dim_qk = 128;
constexpr int tile_size_q = 128;
constexpr unsigned attention_prefill_wgmma_threads = 384;
#endif
constexpr int head_dim_v = head_dim_qk;
enum class kv_layout_values { paged, contiguous };
constexpr kv_layout_values kv_layout = kv_layout_values::paged;
enum class mask_values { causal, dense };
constexpr mask_values mask = mask_values::causal;
constexpr bool sliding_window = true;
enum class numerics_values { fast, invariant };
#ifdef CUBINET_LANES_INVARIANT
constexpr numerics_values numerics = numerics_values::invariant;
#else
constexpr numerics_values numerics = numerics_values::fast;
#endif
constexpr bool separate_page_tables = false;
constexpr int stages = 2;
#ifdef CUBINET_LANES_CLUSTER
constexpr int cluster_size = CUBINET_LANES_CLUSTER;
#else
constexpr int cluster_size = 1;
#endif

}  // namespace cubinet::parameters
