// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes and types that shared attention code takes as its template parameter `Shape`.
#include <cubinet/e4m3.cuh>
#include <cubinet/math.cuh>
#include <cubinet/types.cuh>

namespace cubinet::attention {

// Adds constants derived from the ones that a kernel declares in `Declared`:
//   Q, Kv, Output          element types
//   kHeadDimQk, kHeadDimV  elements of a row of Q and K, and of V and the output
//   kTileQ                 rows of a Q tile: query heads of one KV head times query tokens
//   kPageSize              tokens of a page
//   kClusterSize           CTAs of a cluster, which process adjacent Q tiles of one sequence
//   kCausal, kCustomMask, kSlidingWindow, kSoftCap, kSeparatePageTables
// A kernel's Shape derives from this type and adds the constants that the headers it includes name.
template <class Declared>
struct BasicShape : Declared {
  using Product = typename ProductOf<typename Declared::Kv>::Type;  // type that tensor cores multiply
  static constexpr bool kConvertsKv = !is_same<Product, typename Declared::Kv>;
  // If true, K and V may have scales of KV heads.
  static constexpr bool kHasHeadScales = is_same<typename Declared::Kv, e4m3>;

  static constexpr int kElementBytes = sizeof(typename Declared::Kv);
  static constexpr int kRowBytesQ = Declared::kHeadDimQk * int{sizeof(Product)};
  static constexpr int kRowBytesK = Declared::kHeadDimQk * kElementBytes;
  static constexpr int kRowBytesV = Declared::kHeadDimV * kElementBytes;
  static constexpr int kQBytes = Declared::kTileQ * kRowBytesQ;
  // Floats of a row of the output in shared memory. 8 floats of padding put the rows that one
  // instruction accesses into different banks.
  static constexpr int kOutputStride = Declared::kHeadDimV + 8;
  static constexpr int kOutputRowBytes = (kOutputStride + 2) * 4;  // with the row's maximum and sum

  // The slack of the softmax offset. The offset of a row changes only if the largest logit exceeds
  // it by more than this (base 2), so the lanes of a row need not exchange maxima for every slice.
  // Larger weights are as exact as others, but the largest weight is no longer exactly 1: with bf16
  // that doubled the errors of rows; with e4m3 the difference is not measurable.
  static constexpr float kOffsetSlack = is_same<typename Declared::Kv, e4m3> ? 8.0f : 0.0f;

  // If true, the kernel has invariant numerics (invariant.cuh). Kernels that can have them replace
  // it.
  static constexpr bool kInvariant = false;

#if __CUDA_ARCH__ < 890
  static_assert(sizeof(typename Declared::Output) != 1, "dtype_o e4m3 needs a target from sm_89 on");
#endif
};

}  // namespace cubinet::attention
