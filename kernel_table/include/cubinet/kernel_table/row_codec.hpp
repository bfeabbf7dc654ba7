// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <array>
#include <cstdint>

namespace cubinet {

// A selector as five words, for look-ups.
//
//   word 0  u8 0, qkv_layout, mask, kernel_type, tile_scheduler, multi_ctas_kv_mode,
//   sparse,
//           kv_transform
//   word 1  u8 data types of Q, K, V, O; u16 flags (bit 0 dynamic_page, 1 groups_tokens_heads_q,
//           2 reuses_smem_k_for_v, 3 two_cta, 4 skips_softmax, 5 fp16_softmax, 6 spcompress,
//           7 fuses_inverse_rope_quant, 8 ue8m0_output_scale, 9 soft_cap,
//           10 separate_page_tables; others 0); u16 tile_size_q
//   word 2  u16 tile_size_kv, head_dim_per_cta_v, head_dim_qk, head_dim_v
//   word 3  u16 Sage block sizes of Q, K, P, V
//   word 4  u32 tokens_per_page, u32 0
//
// Every field has bits of its own and is there as it is: two selectors have one encoding only when they are
// equal. In memory only: what is stored is row_of's.
using SelectorEncoding = std::array<std::uint64_t, 5>;

// The one function through which both sides of a look-up go: rows when an index is built, requests when it is
// asked. REQUIRES: check_ranges(selector) holds, or nothing is found.
SelectorEncoding encode_selector(const KernelSelector& selector);
// XXH3-64 of the encoding: an index. Whoever finds something by it compares the encoding.
std::uint64_t hash_of(const SelectorEncoding& encoding);

// A row as a kernel of its publisher: name is the implementation, parameters are the columns that identify it
// and are not at their default (types and enumerated values by name), the extra columns that are on, `layout`
// and `pin`. Target, function name, sizes, digest, version and source are no part of it, so two rows of one
// specification are builds of one kernel.
KernelSpec published_spec(const KernelRow& row);
// Of that specification on the row's target.
KernelIdentity identify(const KernelRow& row);
// The inverse, for selector, traits, extra columns, implementation, layout and pin. corruption for what
// published_spec() does not write, invalid_argument for values out of range.
Result<KernelRow> row_of(const KernelSpec& published);

// A row's bytes in a record: the encoding (kernel_key.hpp) of its specification.
Bytes encode_row(const KernelRow& row);
Result<KernelRow> decode_row(ByteView bytes);

}  // namespace cubinet
