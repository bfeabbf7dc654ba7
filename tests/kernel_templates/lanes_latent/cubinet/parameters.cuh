// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the header that the compiler generates: kernels of attention_latent. CMakeLists.txt
// defines the sizes.
#include <cubinet/types.cuh>

namespace cubinet::parameters {

#ifdef CUBINET_LANES_Q_E4M3
using dtype_q = e4m3;
#else
using dtype_q = bf16;
#endif
#ifdef CUBINET_LANES_E4M3
using dtype_kv = e4m3;
constexpr unsigned kScalesBytes = 256;
#else
using dtype_kv = bf16;
constexpr unsigned kScalesBytes = 0;
#endif
using dtype_o = bf16;
constexpr int head_dim_qk = 576;
constexpr int head_dim_v = 512;
constexpr int tile_size_q = CUBINET_LANES_ROWS;
constexpr int tile_size_kv = 64;
constexpr int stages = 2;
constexpr int cluster_size = CUBINET_LANES_CLUSTER;
constexpr int page_size = CUBINET_LANES_PAGE;
enum class mask_values { causal, dense, custom };
constexpr mask_values mask = mask_values::causal;
constexpr bool sliding_window = false;
constexpr bool soft_cap = false;
constexpr bool separate_page_tables = false;

constexpr unsigned attention_latent_threads = 384;
constexpr unsigned attention_latent_shared_bytes =
    is_same<dtype_q, e4m3>
        ? 222344
        : tile_size_q * head_dim_qk * 2 + stages * tile_size_kv * head_dim_qk * 2 + kScalesBytes + 9336;

}  // namespace cubinet::parameters
