// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of the template `attention_decode` that follow from its parameters, and which tokens a tile sees.
#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention {

using namespace parameters;
using kernel_templates::AttentionDecodeParameters;

constexpr int kSlice = 16;
constexpr int kWarpRows = 16;
constexpr int kWarpsQ = tile_size_q / kWarpRows;
constexpr int kWarpsKv = tile_size_kv / kSlice;
constexpr int kGroupThreads = 32 * kWarpsQ;  // the warps that share one slice
constexpr int kThreads = kGroupThreads * kWarpsKv;
constexpr int kElementBytes = sizeof(dtype_kv);
constexpr int kRowBytesQk = head_dim_qk * kElementBytes;
constexpr int kRowBytesV = head_dim_v * kElementBytes;
constexpr int kSliceBytesK = kSlice * kRowBytesQk;
constexpr int kSliceBytesV = kSlice * kRowBytesV;
constexpr int kRingBytes = stages * (kSliceBytesK + kSliceBytesV);
constexpr int kQBytes = tile_size_q * kRowBytesQk;
// 8 floats of padding put the rows that one store instruction touches into different banks.
constexpr int kMergeStride = head_dim_v + 8;
constexpr int kMergeBytes = kWarpsKv * tile_size_q * (kMergeStride + 2) * 4;
constexpr int kSharedBytes = kQBytes + maximum(kWarpsKv * kRingBytes, kMergeBytes);
// Q's fragments of a head dim of 256 beside its accumulators would not fit the registers.
constexpr bool kQInRegisters = head_dim_qk <= 128 && head_dim_v <= 128;
constexpr int kStepsQk = head_dim_qk / 16;
constexpr int kTilesV = head_dim_v / 8;
constexpr int kReduceThreads = 128;
constexpr int kReduceBlocksPerSm = 8;
// What a thread needs without spilling, by the accumulators and Q's fragments that it holds; left to itself,
// ptxas spills a word to fit one block more.
constexpr int kWidestHead = maximum(head_dim_qk, head_dim_v);
constexpr int kRegisters = kWidestHead <= 64 ? 128 : 255;
constexpr int kBlocksPerSm = maximum(65536 / (kThreads * kRegisters), 1);

static_assert(attention_decode_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_decode_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");
static_assert(attention_decode_reduce_threads == kReduceThreads,
              "the host's formula of the block size differs");
static_assert(attention_decode_reduce_shared_bytes == 0, "the reduction uses static shared memory alone");
static_assert(page_size % kSlice == 0, "a slice must not cross a page");

// Row r of the packed Q of one KV head is query token r / group, head r % group of the group.
struct PackedRows {
  kernel_templates::FastDivisor group;
  int count;
  int first;  // of this tile

  __device__ int token(int row) const { return group.quotient(minimum(first + row, count - 1)); }
  __device__ bool holds(int row) const { return first + row < count; }
};

// Without a window the tokens that are asked about never lie before the range: each warp begins within it.
struct KvRange {
  int begin;
  int end;

  __device__ bool holds(int token) const { return token < end && (!sliding_window || token >= begin); }
  __device__ bool holds_slice(int token) const {
    return token + kSlice <= end && (!sliding_window || token >= begin);
  }
};

__device__ inline int kv_length(const AttentionDecodeParameters& p, int batch) {
  const int length = load_global_constant_int(p.kv_lengths + 4ull * static_cast<unsigned>(batch));
  return minimum(maximum(length, 0), p.max_kv_length);
}

__device__ inline KvRange visible_to(const AttentionDecodeParameters& p, int length, int token) {
  int end = length;
  if constexpr (mask == mask_values::causal) end = maximum(length - p.q_len + token + 1, 0);
  int begin = 0;
  if constexpr (sliding_window) begin = maximum(end - p.window, 0);
  return {begin, end};
}

// How a tile's visible tokens are divided. Depends on what both kernels know, so that they agree.
struct Splits {
  int begin;  // multiple of kSlice
  int end;
  int chunk;
  int count;

  __device__ KvRange range(int split) const {
    return {begin + split * chunk, minimum(begin + (split + 1) * chunk, end)};
  }
};

__device__ inline Splits divide_into_splits(const AttentionDecodeParameters& p, const PackedRows& rows,
                                            int length) {
  Splits s;
  s.begin = visible_to(p, length, rows.token(0)).begin / kSlice * kSlice;
  s.end = visible_to(p, length, rows.token(tile_size_q - 1)).end;
  const int tokens = maximum(s.end - s.begin, 0);
  const int share = p.num_splits.quotient(tokens + p.num_splits.divisor - 1);
  // A multiple of the tile, and so of a slice, whatever the host asks for: a slice must not cross a page.
  s.chunk = round_up(maximum(maximum(p.min_tokens_per_split, share), 1), tile_size_kv);
  s.count = maximum(divide_up(tokens, s.chunk), 1);
  return s;
}

}  // namespace cubinet::attention
