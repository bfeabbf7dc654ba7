// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_family.hpp"

#include <cubinet/attention/cost_model.hpp>

#include <limits>
#include <optional>

namespace cubinet {

inline constexpr std::uint32_t kMaximumDecodeSplits = 256;
// Keeps token positions, rounded up to a tile, within 32 bits on the device.
inline constexpr std::uint32_t kMaximumKvLength = 1U << 30U;
inline constexpr std::uint32_t kMostUnits =
    std::numeric_limits<std::int32_t>::max();  // and blocks, of a head

// A tile of which a block fits the device.
struct FittingTile {
  DecodeTile shape;
  DecodeBlock block;
  std::uint32_t blocks_per_multiprocessor = 1;
};

// What shared memory and registers allow, the kernel's own budget a thread, and what a driver said.
// nullopt where not so many `blocks` fit.
std::optional<FittingTile> fitting_tile(const PlanRequest& request, const DecodeFamily& family,
                                        const DecodeTile& shape, std::uint32_t blocks = 1);

// How the KV of a KV head's tiles is divided.
struct DecodeSplits {
  std::uint32_t count = 1;   // blocks a tile
  std::uint32_t blocks = 1;  // of all tiles
  std::uint32_t unit = 0;    // tokens
  std::uint32_t min_units = 1;
  bool split_is_unit = false;
  bool combines_apart = false;  // a second kernel combines, not the block of a tile that ends last
  std::uint64_t slots = 0;      // of partial results
  KernelCost cost = {std::numeric_limits<double>::infinity(), false};
};

// Returns the splits that the request's options name, or else the fastest by its cost model.
// Without `can_combine` there is no second kernel.
DecodeSplits decode_splits(const PlanRequest& request, const DecodeFamily& family, const FittingTile& tile,
                           bool can_combine = true);

}  // namespace cubinet
