// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "prefill_family.hpp"
#include "prefill_splits.hpp"

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>

#include <optional>
#include <vector>

namespace cubinet {

// The maximum KV length. It keeps token positions, rounded up to a step, within 32 bits on the
// device.
inline constexpr std::uint32_t kMaximumPrefillKv = 1U << 30U;

// A plan that computes one problem on one device with the kernels of a family.
struct PrefillPlan {
  KernelSpec spec;  // with every parameter set
  PrefillTile tile;
  PrefillBlock block;
  PrefillSplits splits;
  WorkspaceSizes workspace;
  std::uint32_t blocks = 1;                     // CTAs of the grid
  std::uint32_t blocks_per_multiprocessor = 1;  // CTAs per SM that the plan assumes
  // The strides and scalars for contiguous tensors in the order of the problem. Holds no addresses.
  kernel_templates::AttentionPrefillParameters parameters = {};
  KernelCost cost;

  // Returns whether attention_prefill_combine follows, with the same argument.
  bool is_split() const { return splits.tokens != 0; }
};

// Returns the plan with the fastest tile and splits by the cost model, or with the first of nearly
// equal ones: of `tiles`, for example those of existing kernels, or of all tiles of the family.
// `may_use` returns whether the plan may use a given kernel that combines splits; if it is empty,
// it may use all of them.
//
// Returns invalid_argument if sizes exceed the limits of the kernels or of CUDA. Returns
// unsupported if no tile, or none of `tiles`, fits the shared memory of the device, or has the KV
// splits that the options ask for. REQUIRES: check_problem and check_device succeed; neither
// prefill_gap() nor the family finds a gap.
Result<PrefillPlan> plan_prefill(const PlanRequest& request, const PrefillFamily& family,
                                 const std::optional<std::vector<PrefillTile>>& tiles = std::nullopt,
                                 const Callback<bool(const KernelSpec&)>& may_use = {});

}  // namespace cubinet
