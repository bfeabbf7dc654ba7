// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_family.hpp"

#include <cubinet/attention/cost_model.hpp>

#include <limits>
#include <optional>

namespace cubinet {

inline constexpr std::uint32_t kMaximumDecodeSplits = 256;
// The maximum KV length. It keeps token positions, rounded up to a tile, within 32 bits on the
// device.
inline constexpr std::uint32_t kMaximumKvLength = 1U << 30U;
inline constexpr std::uint32_t kMostUnits =
    std::numeric_limits<std::int32_t>::max();  // also the most CTAs, of one KV head

// A tile whose CTA fits the device.
struct FittingTile {
  DecodeTile shape;
  DecodeBlock block;
  std::uint32_t blocks_per_multiprocessor = 1;
};

// Returns the tile and the number of its CTAs that an SM can hold: by shared memory, by the
// register budget of the kernel and, if the request has it, by the occupancy that the driver
// reported. Returns nullopt if the shared memory of an SM does not hold `blocks` CTAs.
std::optional<FittingTile> fitting_tile(const PlanRequest& request, const DecodeFamily& family,
                                        const DecodeTile& shape, std::uint32_t blocks = 1);

// The division of the KV of the tiles of one KV head among CTAs.
struct DecodeSplits {
  std::uint32_t count = 1;   // CTAs of a tile
  std::uint32_t blocks = 1;  // CTAs of all tiles
  std::uint32_t unit = 0;    // tokens of a work unit
  std::uint32_t min_units = 1;
  bool split_is_unit = false;
  bool combines_apart = false;  // a second kernel combines, not the last CTA to finish a tile
  std::uint64_t slots = 0;      // slots of partial results
  KernelCost cost = {std::numeric_limits<double>::infinity(), false};
  // The time by which candidates are compared. It differs from `cost` if the lengths are unknown.
  double compared_time = std::numeric_limits<double>::infinity();
};

// The part of the time by which a later one of several candidates must be faster than the best
// earlier one. Earlier candidates have fewer CTAs or are preferred by their family.
inline constexpr double kLeastGain = 0.01;

// Returns the splits that the request's options specify, or else the fastest ones by its cost
// model. If `can_combine` is false, no second kernel may combine.
DecodeSplits decode_splits(const PlanRequest& request, const DecodeFamily& family, const FittingTile& tile,
                           bool can_combine = true);

}  // namespace cubinet
