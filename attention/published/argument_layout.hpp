// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cubinet {

// A member of a published kernel's one argument that a launch writes. All others are zero: what they would
// ask for (custom masks, block-sparse and sparse latent attention, Sage scales, skipped softmax, chunks) is
// declined.
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
  // int32, where nothing else is said
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
  kv_reshape,          // tokens of K that one row of its map holds
  output_scale,        // fp32
  softmax_scale,       // fp32, times log2(e)
  kv_block_scale,      // fp32
  output_block_scale,  // fp32
  total_q,
  total_kv,
  shares_page_table,  // one byte
};
inline constexpr std::size_t kArgumentMembers = 42;

// Where the members lie, and what differs otherwise between the versions of the code that reads them.
// Source: the launchers of FlashInfer 0.6.2 and 0.6.13, recorded (tests/attention/goldens).
struct ArgumentLayout {
  static constexpr std::uint16_t kAbsent = 0xffff;

  std::string_view name;  // PublishedHeader::argument_layout
  std::uint32_t bytes = 0;
  // The divisor of 1: {1, 0, 0, 0}, or {1, 2^31, 0, -1}.
  bool divides_by_one_by_multiplier = false;
  bool scales_blocks = false;          // kv_block_scale is 1 of a paged layout, otherwise 0
  bool keeps_stats_of_ragged = false;  // separate_qkv always writes its softmax statistics
  std::array<std::uint16_t, kArgumentMembers> offsets{};

  std::uint16_t offset_of(ArgumentMember member) const { return offsets[static_cast<std::size_t>(member)]; }
  bool has(ArgumentMember member) const { return offset_of(member) != kAbsent; }
};

// nullptr where the layout of that name is not known, so that none of its kernels can be launched.
const ArgumentLayout* find_argument_layout(std::string_view name);

}  // namespace cubinet
