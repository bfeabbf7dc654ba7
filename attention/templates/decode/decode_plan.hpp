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

// A plan that computes one problem on one device with the kernels of a family.
struct DecodePlan {
  KernelSpec spec;     // attention kernel, with every parameter set
  KernelSpec combine;  // kernel that follows if `combines_apart()`; has the same argument
  DecodeTile tile;
  std::uint32_t splits = 1;  // CTAs that share a tile's KV, if all sequences have the maximum length
  std::uint32_t q_tiles = 1;
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> combine_grid = {1, 1, 1};
  WorkspaceSizes workspace;
  // The strides and scalars for contiguous tensors in the order of the problem. Holds no addresses.
  kernel_templates::AttentionDecodeParameters parameters = {};
  std::uint32_t shared_bytes = 0;               // of a CTA of the main kernel, by the template's formula
  std::uint32_t blocks_per_multiprocessor = 1;  // CTAs per SM that the plan assumes
  KernelCost cost;
  double compared_time = 0;  // DecodeSplits::compared_time

  // Returns whether CTAs share a tile for some lengths.
  bool combines() const { return workspace.scratch_bytes != 0; }
  // Returns whether a second kernel combines the partial results. That kernel has more CTAs than
  // there are tiles.
  bool combines_apart() const { return combines() && !combine.name.empty(); }
};

// The length of a split is a multiple of this, and so of the tokens of every tile.
inline constexpr std::uint32_t kSplitTokensMultiple = 128;

// Returns the plan with the fastest tile by the cost model, or with the first of nearly equal ones:
// of `tiles`, for example those of existing kernels, or of all tiles of the family. With splits of
// a fixed length it uses the first tile that fits, because the cost depends on the batch.
//
// Returns invalid_argument if the number or length of splits is out of range, if sizes exceed the
// limits of the kernels or of CUDA, or if the workspace exceeds 2^56 bytes. Returns unsupported if
// no tile, or none of `tiles`, fits the shared memory of the device. REQUIRES: check_problem and
// check_device succeed; neither decode_gap() nor the family finds a gap.
//
// `has_kernel` returns whether a plan may use a given kernel of attention_combine; if it is empty,
// a plan may use all of them. A plan with splits of a fixed length needs that kernel and is
// otherwise unsupported: the last CTA to finish a tile would add in another order, which gives
// other bits.
Result<DecodePlan> plan_decode(const PlanRequest& request, const DecodeFamily& family,
                               const std::optional<std::vector<DecodeTile>>& tiles = std::nullopt,
                               const Callback<bool(const KernelSpec&)>& has_kernel = {});

}  // namespace cubinet
