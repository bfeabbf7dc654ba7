// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published/wanted_rows.hpp"

#include <cubinet/attention/problem.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <string>
#include <vector>

namespace cubinet::test {

// A row of the published kind for a kernel of stand_in.cu on sm_90a: its name, what it needs of a
// launch, and what a selection for the problem in this state asks for. Its digest is yet to come.
KernelRow stand_in_row(const AttentionProblem& problem, const KernelState& state);
// The macros that make stand_in.cu that kernel, as options of a compiler.
std::vector<std::string> stand_in_flags(const KernelRow& row);

// A problem, and the kernels that there are to run it with.
struct StandInCase {
  std::string name;
  AttentionProblem problem;
  std::vector<KernelRow> rows;
};

// Generation by rows of one tile: split through global memory, and not split. `tokens` is whether
// tokens of Q share a tile with heads.
StandInCase decode_case(std::string name, const AttentionProblem& problem, std::uint16_t tile,
                        bool tokens = true);
// Prefill, paged or not.
StandInCase context_case(std::string name, const AttentionProblem& problem);
// Latent attention with so many columns of V a block; a tile of 64 rows is reduced by a launch of
// its own.
StandInCase latent_case(std::string name, const AttentionProblem& problem, std::uint16_t tile,
                        std::uint16_t head_dim_per_cta);

// What the launches of published kernels are held against, part by part.
std::vector<StandInCase> decode_cases();
std::vector<StandInCase> grouping_cases();
std::vector<StandInCase> page_cases();
std::vector<StandInCase> option_cases();  // sinks, scales, windows, log-sum-exps, ragged queries
std::vector<StandInCase> paged_context_cases();
std::vector<StandInCase> separate_context_cases();
std::vector<StandInCase> latent_cases();
std::vector<StandInCase> separate_reduction_cases();

}  // namespace cubinet::test
