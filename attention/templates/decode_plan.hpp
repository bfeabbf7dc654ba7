// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_family.hpp"

#include <cubinet/base/callback.hpp>
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
  KernelSpec spec;     // of the kernel that attends, with every parameter set
  KernelSpec combine;  // of the kernel that follows if `combines_apart()`, with the same argument
  DecodeTile tile;
  std::uint32_t splits = 1;  // blocks that share a tile's KV, where all sequences are as long as the longest
  std::uint32_t q_tiles = 1;
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> combine_grid = {1, 1, 1};
  WorkspaceSizes workspace;
  // Strides and scalars for contiguous tensors in the problem's order; no addresses.
  kernel_templates::AttentionDecodeParameters parameters = {};
  std::uint32_t shared_bytes = 0;  // of a block of the main kernel, as the template's formula says
  std::uint32_t blocks_per_multiprocessor = 1;  // that it counts on
  KernelCost cost;

  // Returns whether blocks share a tile under some lengths.
  bool combines() const { return workspace.scratch_bytes != 0; }
  // Returns whether a second kernel combines the partial results. It has more blocks than there are
  // tiles.
  bool combines_apart() const { return combines() && !combine.name.empty(); }
};

// A split's length is a multiple of it, and so of every tile's.
inline constexpr std::uint32_t kSplitTokensMultiple = 128;

// Of `tiles`, where they are given (the kernels that exist, say), the fastest by the cost model, of
// equals the first; with splits of a fixed length the first that fits, since the cost depends on
// the batch. Otherwise the tile that the rules choose. invalid_argument for a number or a length of
// splits out of range, sizes beyond the kernels' or CUDA's limits or a workspace beyond 2^62 bytes;
// unsupported when no tile, or none of those allowed, fits the device's shared memory. REQUIRES:
// check_problem and check_device hold; neither decode_gap() nor the family finds a gap.
//
// `has_kernel` returns whether a plan may use a kernel of attention_combine; empty: it may use all.
// With splits of a fixed length a plan needs that kernel (unsupported): the block that ends last
// would add in another order, which gives other bits.
Result<DecodePlan> plan_decode(const PlanRequest& request, const DecodeFamily& family,
                               const std::optional<std::vector<DecodeTile>>& tiles = std::nullopt,
                               const Callback<bool(const KernelSpec&)>& has_kernel = {});

}  // namespace cubinet
