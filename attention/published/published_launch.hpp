// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "argument_layout.hpp"
#include "launch_configuration.hpp"

#include <cubinet/attention/operation.hpp>
#include <cubinet/attention/problem.hpp>
#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <algorithm>
#include <cstdint>

namespace cubinet {

// Everything that the arguments of a published kernel and its following steps depend on, except the
// tensors. A plain value that the writers of a plan share.
struct PublishedLaunch {
  AttentionProblem problem;
  KernelFacts kernel;
  LaunchConfiguration launch;
  WorkspaceSizes workspace;
  std::uint32_t sm_count = 0;
  const ArgumentLayout* layout = nullptr;

  bool is_context() const { return kernel.selector.kernel_type == KernelType::context; }
  bool is_paged() const { return problem.layout == QkvLayout::paged_kv; }
  // Returns the query heads that share a row of Q's tensor map.
  std::uint32_t heads_per_row() const {
    return kernel.traits.groups_heads_q
               ? std::min<std::uint32_t>(kernel.selector.tile_size_q, problem.group_size())
               : 1;
  }
  // Returns the query tokens of a CTA as its argument states them. REQUIRES: `layout`.
  std::uint32_t tokens_per_cta() const {
    const bool of_tile = is_context() && !layout->counts_tokens_of_cta;
    return of_tile ? kernel.selector.tile_size_q : launch.tokens_per_cta_q;
  }
};

// Returns the encoded divisor. A divisor of a launch is at least 1 and far below 2^31.
inline kernel_templates::FastDivisor launch_divisor(std::uint32_t value) {
  const auto made = kernel_templates::make_fast_divisor(value);
  return made ? *made : kernel_templates::FastDivisor{};
}

}  // namespace cubinet
