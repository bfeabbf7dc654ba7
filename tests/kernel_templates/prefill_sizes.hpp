// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lanes/fields.hpp"

#include <cubinet/kernel_templates/attention_prefill_parameters.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace cubinet {

// Returns the first token of each sequence, and behind them the number of tokens.
inline std::vector<std::int32_t> offsets_of(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> offsets(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  return offsets;
}

// Sets the parameters from which a kernel of prefill finds its tiles. `sizes` has q_lengths,
// kv_lengths, heads_q, heads_kv and tile_heads. It and `q_offsets` must outlive the parameters.
template <class Sizes>
void set_sizes(kernel_templates::AttentionPrefillParameters& p, const Sizes& sizes,
               const std::vector<std::int32_t>& q_offsets) {
  p.batch = static_cast<int>(sizes.q_lengths.size());
  p.q_len = *std::max_element(sizes.q_lengths.begin(), sizes.q_lengths.end());
  p.max_kv_length = *std::max_element(sizes.kv_lengths.begin(), sizes.kv_lengths.end());
  p.q_offsets = address_of(q_offsets);
  p.kv_lengths = address_of(sizes.kv_lengths);
  p.heads_q = divisor(sizes.heads_q);
  p.heads_kv = divisor(sizes.heads_kv);
  p.group = divisor(sizes.heads_q / sizes.heads_kv);
  p.tile_heads = divisor(sizes.tile_heads);
}

}  // namespace cubinet
