// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_family.hpp"

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/spec/kernel_spec.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace cubinet {

// How a family's kernels compute one problem on one device.
struct DecodePlan {
  // With every parameter set. Its entry points: the main kernel, then, if `reduces_apart()`, the reduction
  // with the same parameters on the same stream.
  KernelSpec spec;
  DecodeTile tile;
  std::uint32_t splits = 1;  // blocks that share a tile's KV, where all sequences are as long as the longest
  std::uint32_t q_tiles = 1;
  bool has_reduction = false;  // a second kernel
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> reduce_grid = {1, 1, 1};
  WorkspaceSizes workspace;
  // Strides and scalars for contiguous tensors in the problem's order; no addresses.
  kernel_templates::AttentionDecodeParameters parameters = {};
  std::uint32_t shared_bytes = 0;  // of a block of the main kernel, as the template's formula says
  std::uint32_t blocks_per_multiprocessor = 1;  // that it counts on
  KernelCost cost;

  // Whether lengths may be such that blocks share a tile.
  bool reduces() const { return workspace.scratch_bytes != 0; }
  // Few tiles of many pieces are reduced by more blocks than one each.
  bool reduces_apart() const { return reduces() && has_reduction; }
};

// A split's length is a multiple of it, and so of every tile's.
inline constexpr std::uint32_t kSplitTokensMultiple = 128;

// Of `tiles`, where they are given (the kernels that exist, say), the fastest by the cost model, of equals
// the first; with splits of a fixed length the first that fits, since the cost depends on the batch.
// Otherwise the tile that the rules choose. invalid_argument for a number or a length of splits out of range,
// sizes beyond the kernels' or CUDA's limits or a workspace beyond 2^62 bytes; unsupported when no tile, or
// none of those allowed, fits the device's shared memory. REQUIRES: check_problem and check_device hold;
// neither decode_gap() nor the family finds a gap.
Result<DecodePlan> plan_decode(const PlanRequest& request, const DecodeFamily& family,
                               const std::optional<std::vector<DecodeTile>>& tiles = std::nullopt);

}  // namespace cubinet
