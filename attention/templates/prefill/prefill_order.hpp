// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "prefill_family.hpp"
#include "prefill_splits.hpp"

#include <optional>

namespace cubinet {

// The CTA that ends last.
struct BusiestCta {
  double tokens = 0;  // of KV that it multiplies, in whole steps
  double tiles = 0;   // that it computes

  friend bool operator==(const BusiestCta&, const BusiestCta&) = default;
};

// Returns the busiest of `ctas` CTAs, each of which takes the next tile when it has ended one.
// Tiles are in the order of the batch, as attention_prefill_wgmma has those of generation, so the
// last ones may be long. nullopt: the plan does not know the lengths, or there are too many tiles
// to count.
std::optional<BusiestCta> busiest_cta(const AttentionProblem& problem, const PrefillTile& tile,
                                      const PrefillBlock& block, const PrefillSplits& splits,
                                      std::uint32_t ctas);

}  // namespace cubinet
