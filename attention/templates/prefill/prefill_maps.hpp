// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "prefill_family.hpp"

#include <cubinet/attention/operation.hpp>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>

namespace cubinet {

// The tensor maps of a kernel's argument (AttentionPrefillMapParameters).
struct PrefillMaps {
  TensorMapDescription q;  // [batch, tokens, heads, columns], or one batch of all tokens with ragged_q
  TensorMapDescription k;  // [pages, heads, tokens of a page, columns]; without pages [batch, …]
  TensorMapDescription v;
};

// Returns the tokens of a box of K and V: a step, or as many as divide both a step and a page.
std::uint32_t prefill_box_tokens(const AttentionProblem& problem, const PrefillTile& tile);

// Returns the maps of a run. Rows of boxes have 128 bytes. Tokens that the tensors do not have read
// as zeros.
PrefillMaps prefill_maps(const AttentionProblem& problem, const PrefillTile& tile, const PrefillBlock& block,
                         const kernel_templates::AttentionPrefillParameters& strides,
                         const AttentionTensors& tensors);

}  // namespace cubinet
