// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_family.hpp"

#include <cubinet/attention/operation.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <optional>
#include <vector>

namespace cubinet {

// A way to run a problem, and what the cost model says that it takes.
struct DecodeAlternative {
  PlanOptions options;
  double time = 0;
};

// The tile of a kernel, or none where it is not one of the template's.
std::optional<DecodeTile> tile_of(const KernelSpec& kernel);

// A family's tiles that fit the device, each with the splits that the cost model chooses for it,
// left to the plan, and with numbers around them. REQUIRES: the family has no gap.
std::vector<DecodeAlternative> decode_alternatives(const PlanRequest& request, const DecodeFamily& family,
                                                   const KernelTemplate& kernel_template);

}  // namespace cubinet
