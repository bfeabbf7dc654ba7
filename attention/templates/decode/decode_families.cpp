// SPDX-License-Identifier: Apache-2.0
// The list of the families. A new family is a header of its own, its include and its entry here.
#include "decode_families.hpp"

#include "attention_decode_family.hpp"
#include "attention_decode_swapped_family.hpp"
#include "attention_decode_wgmma_family.hpp"
#include "attention_latent_family.hpp"
#include "attention_latent_narrow_family.hpp"
#include "attention_wide_family.hpp"

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

// Families for more specific devices or problems precede the ones that serve more, which are their
// fallback.
constexpr std::array kFamilies = {
    &kAttentionDecodeSwapped, &kAttentionDecodeWgmma, &kAttentionLatent,
    &kAttentionLatentNarrow,  &kAttentionDecode,      &kAttentionWide,
};

}  // namespace

std::vector<const DecodeFamily*> decode_families(const AttentionProblem& problem, ComputeCapability device) {
  std::vector<const DecodeFamily*> families(kFamilies.begin(), kFamilies.end());
  std::stable_partition(families.begin(), families.end(),
                        [&](const DecodeFamily* family) { return family->preferred(problem, device); });
  return families;
}

}  // namespace cubinet
