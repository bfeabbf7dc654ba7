// SPDX-License-Identifier: Apache-2.0
// The list of the families. A new family is a header of its own, its include and its entry here.
#include "prefill_families.hpp"

#include "attention_prefill_family.hpp"
#include "attention_prefill_wgmma_family.hpp"

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

// The preferred families of a problem precede the others. Among equals this order counts.
constexpr std::array kPrefillFamilies = {&kAttentionPrefillWgmma, &kAttentionPrefill};

}  // namespace

std::vector<const PrefillFamily*> prefill_families(const AttentionProblem& problem,
                                                   ComputeCapability device) {
  std::vector<const PrefillFamily*> families(kPrefillFamilies.begin(), kPrefillFamilies.end());
  std::stable_partition(families.begin(), families.end(),
                        [&](const PrefillFamily* family) { return family->preferred(problem, device); });
  return families;
}

}  // namespace cubinet
