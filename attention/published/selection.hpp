// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch_configuration.hpp"
#include "tile_costs.hpp"
#include "workspace.hpp"

#include <cubinet/attention/problem.hpp>
#include <cubinet/kernel_table/kernel_index.hpp>
#include <cubinet/kernel_table/selection_rules.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace cubinet {

// Returns how many clusters of a kernel the device holds at once (cuOccupancyMaxActiveClusters).
// Without an oracle, all clusters are assumed to fit.
using OccupancyOracle = std::function<std::uint32_t(const KernelRow& row, std::uint32_t cluster_x)>;

// The caller's policy. The defaults are the default policy.
struct SelectionPolicy {
  // If true, several CTAs may share one sequence's KV (generation only).
  bool splits_kv = true;
  // If true, KV tiles are halved while KV is split and the device is not full (MLA).
  bool tries_tile_size_kv64 = false;
  // If true, every row that a rule names is assumed to exist and no table is read.
  bool assumes_all_kernels = false;
  TargetPolicy targets = {};
  SelectionRules rules = {};           // the rules of the table's version
  bool keeps_stats_of_ragged = false;  // ArgumentLayout::keeps_stats_of_ragged
  OccupancyOracle maximum_active_clusters = {};
  // The model is skipped if more than one in `busy_share` SMs has a CTA: nothing is left to gain.
  std::uint32_t busy_share = 2;
  // MLA generation swaps A and B if a CTA has at most this many KV tokens.
  std::uint32_t mla_swaps_tokens = 1024;
  const CostModel* costs = nullptr;  // Null: default_cost_model(). Must outlive the call.
};

// The refinements. Each fires at most once in a selection.
enum class Refinement : std::uint8_t {
  none = 0,      // the first pass
  no_split = 1,  // back to one CTA per sequence: no split, persistent scheduler
  tile_kv64 = 2,
  cga = 3,             // reduction in a cluster instead of through global memory
  head_dim_split = 4,  // more CTAs for the columns of V
  cga_fallback = 5,    // the clusters do not all fit at once: back to global memory
};
inline constexpr std::size_t kRefinements = 6;
std::string_view to_string(Refinement refinement);

// One tile that the cost model looked at.
struct TraceCandidate {
  std::uint16_t tile_size_q = 0;
  bool exists = false;  // if false, the members below are 0
  std::uint32_t kv_splits = 0;
  std::uint64_t ctas = 0;
  double time = 0;
};

// One pass: the examined kernel and the reason.
struct TracePass {
  Refinement because = Refinement::none;
  KernelSelector selector;
  std::uint32_t kv_splits = 0;
  std::uint64_t ctas = 0;
};

// The steps of a selection as data. explanation.hpp turns them into sentences.
struct SelectionTrace {
  std::array<TraceCandidate, kTileSizesQ.size()> candidates{};
  std::uint8_t candidate_count = 0;
  std::array<TracePass, kRefinements> passes{};
  std::uint8_t pass_count = 0;
  // bit 1 << Refinement: it applied, but the table has no row for it
  std::uint8_t missing_refinements = 0;
  bool model_skipped = false;  // if true, the default tile keeps the device busy
  // if true, the first choice of the rules is not in the table
  bool default_missing = false;
  KernelSelector wanted;  // the first choice
  std::uint32_t looked_up = 0;
  std::uint32_t over_shared_limit = 0;  // rows that need more shared memory than the device has
  std::uint32_t refused_targets = 0;    // rows that the policy forbids
  std::uint32_t not_launchable = 0;     // rows whose shape does not fit the problem
};

// The result of a selection, for support queries and for launches. A plain value; `row` points into
// the index's rows.
struct Selection {
  bool found = false;
  // Null with assumes_all_kernels. `kernel` is then the assumed row.
  const KernelRow* row = nullptr;
  KernelFacts kernel;
  LaunchConfiguration launch;
  WorkspaceSizes workspace;
  KernelCost cost;  // by the cost model
  SelectionTrace trace;
};

// Chooses a kernel for a problem. Pure: equal arguments give equal results, independent of the
// order of the table's rows. Opens, loads and queries nothing except the occupancy oracle. A
// missing kernel is a result, whose trace lists the lookups. Returns an error only for an invalid
// problem or device (check_problem).
Result<Selection> select(const AttentionProblem& problem, const DeviceFacts& device, const KernelIndex& index,
                         const SelectionPolicy& policy);

}  // namespace cubinet
