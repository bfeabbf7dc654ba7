// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>
#include <cubinet/kernel_table/published_header.hpp>

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
};

// All shapes that may serve a problem, in the order of preference: the rules' choice, then what stands in
// for it where the table lacks it. The first `compared` of them are those that the cost model compares; 0
// where it is not asked.
struct CandidateShapes {
  static constexpr std::size_t kMaximum = 24;
  std::array<Shape, kMaximum> shapes{};
  std::size_t count = 0;
  std::size_t compared = 0;

  void add(const Shape& shape) {
    if (count < kMaximum) shapes[count++] = shape;
  }
};

// REQUIRES: check_problem. `mla_swaps_tokens` is the cost table's.
CandidateShapes candidate_shapes(const AttentionProblem& problem, std::uint32_t sm_count,
                                 std::uint32_t mla_swaps_tokens, const SelectionRules& rules);

// Q and KV of different element types, or an output of E2M1 where the rules say so: kernels that only swap A
// and B.
bool is_mixed_precision(const AttentionProblem& problem, const SelectionRules& rules);

}  // namespace cubinet
