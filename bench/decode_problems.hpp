// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/reference.hpp>
#include <cubinet/runtime.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet::bench {

struct NamedProblem {
  std::string name;
  AttentionProblem problem;
};

// Returns Llama-3-70B's attention (64 query and 8 KV heads of 128, bf16) at batch 1, 16, 64, KV
// 4096 and 16384, page 16 and 64.
std::vector<NamedProblem> llama_problems();
// Returns small problems of every shape that the kernel distinguishes, fast enough for a sanitizer.
std::vector<NamedProblem> small_problems();

// Plans with our templates, independent of existing builds: a benchmark compiles the kernels that
// it measures.
Result<AttentionPlan> plan_decode_on(const Device& device, const AttentionProblem& problem,
                                     std::optional<std::uint32_t> splits = std::nullopt);

}  // namespace cubinet::bench
