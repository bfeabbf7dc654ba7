// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <array>
#include <cstdint>

namespace cubinet {

// A selector encoded as five words, for look-ups.
//
//   word 0  u8 0, qkv_layout, mask, kernel_type, tile_scheduler, multi_ctas_kv_mode, sparse,
//           kv_transform
//   word 1  u8 data types of Q, K, V, O; u16 flags (bit 0 dynamic_page, 1 groups_tokens_heads_q,
//           2 reuses_smem_k_for_v, 3 two_cta, 4 skips_softmax, 5 fp16_softmax, 6 spcompress,
//           7 fuses_inverse_rope_quant, 8 ue8m0_output_scale, 9 soft_cap,
//           10 separate_page_tables, 11 invariant; others 0); u16 tile_size_q
//   word 2  u16 tile_size_kv, head_dim_per_cta_v, head_dim_qk, head_dim_v
//   word 3  u16 Sage block sizes of Q, K, P, V
//   word 4  u32 tokens_per_page, u32 0
//
// Every field has its own bits and is stored unchanged, so two selectors have the same encoding
// only if they are equal. Used in memory only: stored data uses row_of().
using SelectorEncoding = std::array<std::uint64_t, 5>;

// Encodes a selector. Both sides of a look-up use this function: rows when an index is built, and
// requests when it is queried. REQUIRES: check_ranges(selector) succeeds. Otherwise nothing is
// found.
SelectorEncoding encode_selector(const KernelSelector& selector);
// Returns the XXH3-64 hash of the encoding. It is an index: code that finds an entry by it must
// also compare the encoding.
std::uint64_t hash_of(const SelectorEncoding& encoding);

// Returns the specification of a row as a kernel of its publisher. The name is the implementation.
// The parameters are `layout`, `pin`, the extra columns that are on, and the identifying columns
// that differ from their defaults (types and enumerated values by name). Target, function name,
// sizes, digest, version and source are excluded, so two rows with the same specification are
// builds of one kernel.
KernelSpec published_spec(const KernelRow& row);
// Returns the identity of that specification on the row's target.
KernelIdentity identify(const KernelRow& row);
// Returns the row of a specification, which is the inverse of published_spec(). Restores selector,
// traits, extra columns, implementation, layout and pin. Errors: corruption for a specification
// that published_spec() does not write, invalid_argument for values out of range.
Result<KernelRow> row_of(const KernelSpec& published);

// Returns a row's bytes in a record, which are the encoding (kernel_key.hpp) of its specification.
Bytes encode_row(const KernelRow& row);
Result<KernelRow> decode_row(ByteView bytes);

}  // namespace cubinet
