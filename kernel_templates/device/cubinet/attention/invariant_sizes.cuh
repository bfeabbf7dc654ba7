// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tokens of a step and of a segment of invariant numerics (docs/arithmetic.md), counted from
// the first token of a sequence.
namespace cubinet::attention {

inline constexpr int kInvariantStep = 64;
inline constexpr int kInvariantSegment = 512;

}  // namespace cubinet::attention
