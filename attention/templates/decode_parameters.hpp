// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_division.hpp"

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/attention_decode_parameters.h>

namespace cubinet {

// Strides and scalars for contiguous tensors in the problem's order; no addresses.
Result<kernel_templates::AttentionDecodeParameters> decode_parameters(const AttentionProblem& problem,
                                                                      const DecodeTile& tile,
                                                                      const DecodeSplits& splits);

// Partial rows of fp32, those of a tile in each slot of a KV head, their log-sum-exps behind them,
// and where no second kernel combines them a counter a tile.
Result<WorkspaceSizes> decode_workspace(const AttentionProblem& problem, const DecodeTile& tile,
                                        const DecodeSplits& splits);

}  // namespace cubinet
