// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cubinet {

// A member of a published kernel's argument that a launch writes. All others are zero: the features
// that they select (custom masks, block-sparse and sparse latent attention, Sage scales, skipped
// softmax, chunks) are declined.
enum class ArgumentMember : std::uint8_t {
  // tensor maps, 128 bytes
  map_q,
  map_k,
  map_v,
  map_o,
  map_k_scales,
  map_v_scales,
  // addresses, 8 bytes
  output,
  output_block_scales,
  sinks,
  q_offsets,
  kv_offsets,
  counters,
  output_scale_address,
  page_table,
  partial_output,
  partial_stats,
  softmax_scale_address,
  kv_lengths,
  softmax_stats,
  // int32, unless noted otherwise
  window,
  batch,
  q_len,
  kv_len,
  ctas_q,
  ctas_kv,
  pages_per_sequence,
  heads_kv,
  heads_q,
  group,
  group_divisor,  // {divisor, multiplier, 0, shift}, 16 bytes
  hidden_output,  // int64: elements of all heads of one token of Q
  pool_pages,
  tokens_per_cta,
  log2_tokens_per_page,
  kv_reshape,          // tokens of K in one row of its tensor map
  output_scale,        // fp32
  softmax_scale,       // fp32, times log2(e)
  kv_block_scale,      // fp32
  output_block_scale,  // fp32
  total_q,
  total_kv,
  shares_page_table,  // one byte
};
inline constexpr std::size_t kArgumentMembers = 42;

// The offsets of the members, and other differences between versions of the code that reads them.
// Source: recorded launches of FlashInfer 0.6.2 and 0.6.13 (tests/cli/goldens), and for 0.7.2 the
// host code of 0.6.18 to 0.7.2 (`kernelParams.h`).
struct ArgumentLayout {
  static constexpr std::uint16_t kAbsent = 0xffff;

  std::string_view name;  // PublishedHeader::argument_layout
  std::uint32_t bytes = 0;
  // The encoding of the divisor 1: {1, 0, 0, 0} if false, {1, 2^31, 0, -1} if true.
  bool divides_by_one_by_multiplier = false;
  // If true, kv_block_scale is 1 with a paged layout, otherwise 0.
  bool scales_blocks = false;
  // If true, separate_qkv always writes its softmax statistics.
  bool keeps_stats_of_ragged = false;
  // If true, a context kernel's CTA counts the tokens of all its tiles of Q, and separate_qkv has
  // no batch stride. If false, it counts those of one tile.
  bool counts_tokens_of_cta = false;
  std::array<std::uint16_t, kArgumentMembers> offsets{};

  std::uint16_t offset_of(ArgumentMember member) const { return offsets[static_cast<std::size_t>(member)]; }
  bool has(ArgumentMember member) const { return offset_of(member) != kAbsent; }
};

// Returns nullptr if the layout is unknown. Its kernels then cannot be launched.
const ArgumentLayout* find_argument_layout(std::string_view name);

}  // namespace cubinet
