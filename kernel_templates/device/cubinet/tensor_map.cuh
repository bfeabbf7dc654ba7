// SPDX-License-Identifier: Apache-2.0
#pragma once
// TMA copies of boxes of a tensor (sm_90a). The kernel makes the tensor map itself, or the host
// passes it by value.
#include <cubinet/memory.cuh>

namespace cubinet {

inline constexpr int kTensorMapBytes = 128;

// A tensor of 16-bit elements: adjacent columns, rows, and groups of rows. Strides are in bytes and
// must be multiples of 16.
struct TensorOfRows {
  GlobalAddress address;
  unsigned columns;
  unsigned rows;
  unsigned groups;
  unsigned long long row_bytes;
  unsigned long long group_bytes;
  unsigned box_columns;  // a box is contained in one group
  unsigned box_rows;
};

#define CUBINET_TENSOR_MAP_FIELD(field, place, value)                                                 \
  asm volatile("tensormap.replace.tile." field ".shared::cta.b1024.b32 [%0], " value ";" ::"r"(place) \
               : "memory")
#define CUBINET_TENSOR_MAP_SIZE(field, ordinal, place, value)                           \
  asm volatile("tensormap.replace.tile." field ".shared::cta.b1024.b32 [%0], " #ordinal \
               ", %1;" ::"r"(place),                                                    \
               "r"(value)                                                               \
               : "memory")
#define CUBINET_TENSOR_MAP_STRIDE(ordinal, place, bytes)                                    \
  asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], " #ordinal \
               ", %1;" ::"r"(place),                                                        \
               "l"(bytes)                                                                   \
               : "memory")

// Makes the map in 128 bytes of shared memory (`place`) and stores it to `map`, in global memory,
// which only this CTA may read. All lanes of one warp must call it. Boxes are stored as rows of 128
// bytes with the 128-byte swizzle; elements outside the tensor become zeros.
__device__ inline void make_tensor_map(GlobalAddress map, SharedAddress place, const TensorOfRows& of) {
  const unsigned lane = threadIdx.x % 32;
  asm volatile("st.shared.u32 [%0], 0;" ::"r"(place + 4 * lane) : "memory");
  __syncwarp();
  if (lane == 0) {
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(place),
                 "l"(of.address)
                 : "memory");
    CUBINET_TENSOR_MAP_FIELD("rank", place, "2");  // the rank less one
    CUBINET_TENSOR_MAP_SIZE("box_dim", 0, place, of.box_columns);
    CUBINET_TENSOR_MAP_SIZE("box_dim", 1, place, of.box_rows);
    CUBINET_TENSOR_MAP_SIZE("box_dim", 2, place, 1);
    CUBINET_TENSOR_MAP_SIZE("global_dim", 0, place, of.columns);
    CUBINET_TENSOR_MAP_SIZE("global_dim", 1, place, of.rows);
    CUBINET_TENSOR_MAP_SIZE("global_dim", 2, place, of.groups);
    CUBINET_TENSOR_MAP_STRIDE(0, place, of.row_bytes);
    CUBINET_TENSOR_MAP_STRIDE(1, place, of.group_bytes);
    CUBINET_TENSOR_MAP_SIZE("element_stride", 0, place, 1);
    CUBINET_TENSOR_MAP_SIZE("element_stride", 1, place, 1);
    CUBINET_TENSOR_MAP_SIZE("element_stride", 2, place, 1);
    CUBINET_TENSOR_MAP_FIELD("elemtype", place, "1");           // u16
    CUBINET_TENSOR_MAP_FIELD("interleave_layout", place, "0");  // none
    CUBINET_TENSOR_MAP_FIELD("swizzle_mode", place, "3");       // 128 bytes
    CUBINET_TENSOR_MAP_FIELD("fill_mode", place, "0");          // zeros
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "128;" ::"l"(map),
      "r"(place)
      : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

#undef CUBINET_TENSOR_MAP_FIELD
#undef CUBINET_TENSOR_MAP_SIZE
#undef CUBINET_TENSOR_MAP_STRIDE

// Copies a box to the same shared memory address of each CTA of the cluster whose bit in `blocks`
// is set. The mbarrier at `barrier` of each of these CTAs counts the bytes. Only threads of the
// warp that made the map may call it; each call copies one box.
__device__ inline void bulk_copy_box_to(unsigned short blocks, SharedAddress target, GlobalAddress map,
                                        int column, int row, int group, SharedAddress barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], "
      "[%1, {%2, %3, %4}], [%5], %6;" ::"r"(target),
      "l"(map), "r"(column), "r"(row), "r"(group), "r"(barrier), "h"(blocks)
      : "memory");
}

// Copies a box of a tensor of rank 4. `map` is a tensor map in a __grid_constant__ parameter. The
// mbarrier at `barrier` counts the bytes. Elements outside the tensor become zeros.
__device__ inline void copy_box(SharedAddress target, const void* map, int x0, int x1, int x2, int x3,
                                SharedAddress barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(target),
      "l"(map), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(barrier)
      : "memory");
}

// Copies a box of a tensor of rank 5, like copy_box() of rank 4.
__device__ inline void copy_box(SharedAddress target, const void* map, int x0, int x1, int x2, int x3, int x4,
                                SharedAddress barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(target),
      "l"(map), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(barrier)
      : "memory");
}

// Copies a box to the same shared memory address of all CTAs of a cluster, like copy_box() with
// one.
template <int kClusterSize>
__device__ inline void copy_box_in_cluster(SharedAddress target, const void* map, int x0, int x1, int x2,
                                           int x3, SharedAddress barrier) {
  if constexpr (kClusterSize == 1) return copy_box(target, map, x0, x1, x2, x3, barrier);
  constexpr unsigned short kAll = (1 << kClusterSize) - 1;
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(target),
      "l"(map), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(barrier), "h"(kAll)
      : "memory");
}
template <int kClusterSize>
__device__ inline void copy_box_in_cluster(SharedAddress target, const void* map, int x0, int x1, int x2,
                                           int x3, int x4, SharedAddress barrier) {
  if constexpr (kClusterSize == 1) return copy_box(target, map, x0, x1, x2, x3, x4, barrier);
  constexpr unsigned short kAll = (1 << kClusterSize) - 1;
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], %8;" ::"r"(target),
      "l"(map), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(barrier), "h"(kAll)
      : "memory");
}

// Prefetches a tensor map in a __grid_constant__ parameter, which the first copy would wait for.
__device__ inline void prefetch_tensor_map(const void* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Prefetches a box of a tensor of rank 4 to the L2 cache. `map` is like that of copy_box().
__device__ inline void prefetch_box(const void* map, int x0, int x1, int x2, int x3) {
  asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(map), "r"(x0),
               "r"(x1), "r"(x2), "r"(x3)
               : "memory");
}

}  // namespace cubinet
