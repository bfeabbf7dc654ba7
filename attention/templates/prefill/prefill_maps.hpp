// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "prefill_family.hpp"

#include <cubinet/attention/operation.hpp>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>

namespace cubinet {

// The tensor maps of a kernel's argument (AttentionPrefillMapParameters).
struct PrefillMaps {
  // [batch, tokens, heads, columns], or one batch of all tokens with ragged_q. A box has the rows
  // of one consumer, or of all if the heads that share a tile are no whole part of a consumer's
  // rows.
  TensorMapDescription q;
  // [batch, heads, tokens, columns]. With pages [pages, groups of 8 tokens, blocks of 128 bytes of
  // all heads, tokens, columns], or heads instead of blocks if rows are not whole blocks or heads
  // not whole blocks apart.
  TensorMapDescription k;
  TensorMapDescription v;
};

// Sets the tokens of a box of K and V: a step, or as many as divide both a step and a page, or 8.
// `parameters` has the strides of a run. The stride of a single head becomes 0.
void set_prefill_boxes(const AttentionProblem& problem, const PrefillTile& tile,
                       kernel_templates::AttentionPrefillParameters& parameters);

// Returns the maps of a run with boxes of `strides.box_tokens` tokens. Rows of boxes have 128
// bytes. Tokens that the tensors do not have read as zeros.
PrefillMaps prefill_maps(const AttentionProblem& problem, const PrefillTile& tile, const PrefillBlock& block,
                         const kernel_templates::AttentionPrefillParameters& strides,
                         const AttentionTensors& tensors);

}  // namespace cubinet
