// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>
#include <cubinet/kernel_table/selection_rules.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace cubinet {

// The part of a kernel that the rules choose before splits and refinements.
struct Shape {
  KernelType type = KernelType::context;
  std::uint16_t tile_size_q = 128;
  std::uint16_t head_dim_per_cta_v = 0;
  bool two_cta = false;
  bool groups_tokens = false;  // latent attention: query tokens share a tile

  friend bool operator==(const Shape&, const Shape&) = default;
};

// All shapes that can serve a problem in the order of preference: the choice of the rules, then its
// fallbacks if the table lacks it. The cost model compares the first `compared` of them; 0 if it is
// not used.
struct CandidateShapes {
  static constexpr std::size_t kMaximum = 24;
  std::array<Shape, kMaximum> shapes{};
  std::size_t count = 0;
  std::size_t compared = 0;

  // Adds a shape that is not in the list.
  void add(const Shape& shape) {
    const Shape* const begin = shapes.data();
    const Shape* const end = begin + count;
    if (count < kMaximum && std::find(begin, end, shape) == end) shapes[count++] = shape;
  }
};

// Returns the shapes for a problem. `mla_swaps_tokens` comes from the cost table. REQUIRES:
// check_problem.
CandidateShapes candidate_shapes(const AttentionProblem& problem, std::uint32_t sm_count,
                                 std::uint32_t mla_swaps_tokens, const SelectionRules& rules);

// Returns whether the problem needs kernels that only swap A and B: Q and KV have different element
// types, or the output is E2M1 and the rules say so.
bool is_mixed_precision(const AttentionProblem& problem, const SelectionRules& rules);

// Returns whether a generation kernel produces V's columns in parts of 256, with a second launch
// that combines its splits.
bool splits_wide(const AttentionProblem& problem, KernelType type, const SelectionRules& rules);

}  // namespace cubinet
