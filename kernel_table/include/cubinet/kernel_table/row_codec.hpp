// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <array>
#include <cstdint>

namespace cubinet {

// The canonical encoding of a selector: 40 bytes as five words, each little-endian when written.
//
//   word 0  u8 kSelectorSchemaVersion, qkv_layout, mask, kernel_type, tile_scheduler, multi_ctas_kv_mode,
//   sparse,
//           kv_transform
//   word 1  u8 data types of Q, K, V, O; u16 flags (bit 0 dynamic_page, 1 groups_tokens_heads_q,
//           2 reuses_smem_k_for_v, 3 two_cta, 4 skips_softmax, 5 fp16_softmax, 6 spcompress,
//           7 fuses_inverse_rope_quant, 8 ue8m0_output_scale; others 0); u16 tile_size_q
//   word 2  u16 tile_size_kv, head_dim_per_cta_v, head_dim_qk, head_dim_v
//   word 3  u16 Sage block sizes of Q, K, P, V
//   word 4  u32 tokens_per_page, u32 0
//
// Every field has bits of its own and is stored as it is: two selectors have one encoding only when they are
// equal. Version history: 1 (2026-11) the first.
inline constexpr std::uint8_t kSelectorSchemaVersion = 1;
using SelectorEncoding = std::array<std::uint64_t, 5>;

// The one function through which both sides of a look-up go: rows when an index is built, requests when it is
// asked. REQUIRES: check_ranges(selector) holds, or nothing is found.
SelectorEncoding encode_selector(const KernelSelector& selector);
// The inverse. corruption for bits that no selector sets, unsupported for a newer schema, invalid_argument
// for values out of range.
Result<KernelSelector> decode_selector(const SelectorEncoding& encoding);

// XXH3-64 of the encoding: an index. Whoever finds something by it compares the encoding.
std::uint64_t hash_of(const SelectorEncoding& encoding);

// What tells a row from every other: whose it is, selector, traits, target and the extra columns that are on.
// Function names, sizes and digests are not part of it.
struct RowIdentity {
  KernelSelector selector;
  KernelTraits traits;
  SmTarget target;
  std::vector<ExtraColumn> extras;  // ascending by name, none of them off
  std::string implementation;

  friend bool operator==(const RowIdentity&, const RowIdentity&) = default;
};

RowIdentity identity_of(const KernelRow& row);

//   <row> ::= "CROW" u16 kRowSchemaVersion <selector: 40 bytes> u32 step_q u32 step_kv u8 groups_heads_q
//             u16 stages u16 major u16 minor u8 kind <string> implementation
//             u32 count { <string> name <string> value }
// Version history: 2 (2026-11) implementation and stages; 1 had neither, and was never stored.
inline constexpr std::uint16_t kRowSchemaVersion = 2;
// invalid_argument for a row whose fields are out of range.
Result<Bytes> encode_row_identity(const RowIdentity& identity);
// Accepts canonical encodings only; any bytes give an identity, corruption, or unsupported (newer schema).
Result<RowIdentity> decode_row_identity(ByteView encoding);

// The 64-bit key of a row: XXH3-64 of its encoded identity.
KernelKey key_of(ByteView row_identity_encoding);

}  // namespace cubinet
