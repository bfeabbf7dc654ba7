// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published/wanted_rows.hpp"

#include <cubinet/attention/problem.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <string>
#include <vector>

namespace cubinet::test {

// Returns a published row for a kernel of stand_in.cu on sm_90a: its name, its launch requirements,
// and the selector for the problem in this state. The digest is not set.
KernelRow stand_in_row(const AttentionProblem& problem, const KernelState& state);
// Returns the macros that turn stand_in.cu into that kernel, as compiler options.
std::vector<std::string> stand_in_flags(const KernelRow& row);

// A problem and the kernels that can run it.
struct StandInCase {
  std::string name;
  AttentionProblem problem;
  std::vector<KernelRow> rows;
};

// Returns a generation case with rows of one tile, with a kernel split through global memory and
// one that is not split. If `tokens` is true, tokens of Q share a tile with heads.
StandInCase decode_case(std::string name, const AttentionProblem& problem, std::uint16_t tile,
                        bool tokens = true);
// Returns a prefill case, paged or not.
StandInCase context_case(std::string name, const AttentionProblem& problem);
// Returns a latent attention case with this number of V columns per block. A separate launch
// reduces a tile of 64 rows.
StandInCase latent_case(std::string name, const AttentionProblem& problem, std::uint16_t tile,
                        std::uint16_t head_dim_per_cta);

// The cases that test the launches of published kernels, part by part.
std::vector<StandInCase> decode_cases();
std::vector<StandInCase> grouping_cases();
std::vector<StandInCase> page_cases();
std::vector<StandInCase> option_cases();  // sinks, scales, windows, log-sum-exps, ragged queries
std::vector<StandInCase> paged_context_cases();
std::vector<StandInCase> separate_context_cases();
std::vector<StandInCase> latent_cases();
std::vector<StandInCase> separate_reduction_cases();

}  // namespace cubinet::test
