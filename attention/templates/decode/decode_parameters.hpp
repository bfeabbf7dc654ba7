// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_division.hpp"

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/attention_decode_parameters.h>

namespace cubinet {

// Returns the strides and scalars for contiguous tensors in the order of the problem. Sets no
// addresses.
Result<kernel_templates::AttentionDecodeParameters> decode_parameters(const AttentionProblem& problem,
                                                                      const DecodeTile& tile,
                                                                      const DecodeSplits& splits);

// Returns the sizes of the workspace: the partial rows in fp32 (the rows of a tile in each slot of
// a KV head), then their LSEs and, unless a second kernel combines them, one counter for each tile.
Result<WorkspaceSizes> decode_workspace(const AttentionProblem& problem, const DecodeTile& tile,
                                        const DecodeSplits& splits);

}  // namespace cubinet
