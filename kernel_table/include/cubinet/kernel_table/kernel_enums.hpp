// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace cubinet {

// The values are those of published metadata headers. Stored in keys and tables: DO NOT RENUMBER.

enum class QkvLayout : std::uint8_t { separate_qkv = 0, packed_qkv = 1, paged_kv = 2, contiguous_kv = 3 };

enum class AttentionMask : std::uint8_t {
  dense = 0,
  causal = 1,                     // row i of q_len sees kv positions <= kv_len - q_len + i
  sliding_or_chunked_causal = 2,  // causal, limited to a window or to the current chunk
  custom = 3,                     // a packed mask over the last q_len positions
};

enum class KernelType : std::uint8_t {
  context = 0,       // prefill
  generation = 1,    // requests a choice of one of the next two; never stored in a row
  swaps_mma_ab = 2,  // generation, the KV tile is the MMA's M operand: few rows of Q, low latency
  keeps_mma_ab = 3,  // generation, rows of Q are M (64 or 128): high throughput
  spec_decoding = 4,
};

enum class TileScheduler : std::uint8_t { static_grid = 0, persistent = 1 };

// The method of combining the partial results of several CTAs that processed one row's KV. Headers
// from before September 2025 number cga as 2; the header reader recognises them.
enum class MultiCtasKvMode : std::uint8_t {
  disabled = 0,
  gmem = 1,           // the last CTA reduces, through global memory
  gmem_separate = 2,  // a second launch reduces
  cga = 3,            // through the distributed shared memory of a cluster of at most 16
};

enum class SparseAttention : std::uint8_t { none = 0, static_token = 1, dynamic_token = 2 };

// The conversion of KV before the MMA in a kernel with BF16 Q and FP8 KV.
enum class KvTransform : std::uint8_t { full = 0, k_only = 1, separate_kv = 2 };

// Return the names in the command-line tool's JSON: "paged_kv", "swaps", "static", "gmem_separate".
std::string_view to_string(QkvLayout value);
std::string_view to_string(AttentionMask value);
std::string_view to_string(KernelType value);
std::string_view to_string(TileScheduler value);
std::string_view to_string(MultiCtasKvMode value);
std::string_view to_string(SparseAttention value);
std::string_view to_string(KvTransform value);

}  // namespace cubinet
