// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_family.hpp"
#include "templates/operation_class.hpp"

#include <optional>
#include <vector>

namespace cubinet {

// Returns the tile of a kernel, or nullopt if the kernel does not have the template's tile
// parameters.
std::optional<DecodeTile> tile_of(const KernelSpec& kernel);

// Returns the tiles of a family that fit the device. Each tile appears with the splits that the
// cost model chooses, left to the plan, and with fixed numbers of splits around them. REQUIRES: the
// family has no gap for the problem.
std::vector<FamilyAlternative> decode_alternatives(const PlanRequest& request, const DecodeFamily& family,
                                                   const KernelTemplate& kernel_template);

}  // namespace cubinet
