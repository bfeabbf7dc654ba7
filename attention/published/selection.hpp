// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch_configuration.hpp"
#include "tile_costs.hpp"
#include "workspace.hpp"

#include <cubinet/attention/problem.hpp>
#include <cubinet/kernel_table/kernel_index.hpp>
#include <cubinet/kernel_table/published_header.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace cubinet {

// How many clusters of a kernel the device holds at once (cuOccupancyMaxActiveClusters). Without one it fits.
using OccupancyOracle = std::function<std::uint32_t(const KernelRow& row, std::uint32_t cluster_x)>;

// The caller's wishes. The defaults are the default policy.
struct SelectionPolicy {
  bool splits_kv = true;              // several CTAs may share one sequence's KV (generation only)
  bool tries_tile_size_kv64 = false;  // half KV tiles while KV is split and the device not full (MLA)
  bool assumes_all_kernels = false;   // every row that a rule names is taken to exist; no table is read
  TargetPolicy targets = {};
  SelectionRules rules = {};           // of the table's version
  bool keeps_stats_of_ragged = false;  // the layout's
  OccupancyOracle maximum_active_clusters = {};
  // The model is not asked when more than one in this many SMs has a CTA: nothing is left to gain.
  std::uint32_t busy_share = 2;
  // MLA generation swaps A and B while a CTA has at most this many KV tokens.
  std::uint32_t mla_swaps_tokens = 1024;
  const CostModel* costs = nullptr;  // null: default_cost_model(); must outlive the call
};

// The refinements, each of which fires at most once in a selection.
enum class Refinement : std::uint8_t {
  none = 0,      // the first pass
  no_split = 1,  // one CTA a sequence after all: no split, persistent scheduler
  tile_kv64 = 2,
  cga = 3,             // reduce in a cluster instead of through global memory
  head_dim_split = 4,  // more CTAs for the columns of V
  cga_fallback = 5,    // the clusters do not all fit at once: through global memory after all
};
inline constexpr std::size_t kRefinements = 6;
std::string_view to_string(Refinement refinement);

// One tile that the cost model looked at.
struct TraceCandidate {
  std::uint16_t tile_size_q = 0;
  bool exists = false;  // otherwise the rest is 0
  std::uint32_t kv_splits = 0;
  std::uint64_t ctas = 0;
  double time = 0;
};

// One pass: the kernel that was looked at and why.
struct TracePass {
  Refinement because = Refinement::none;
  KernelSelector selector;
  std::uint32_t kv_splits = 0;
  std::uint64_t ctas = 0;
};

// What happened, without text: explanation.hpp makes sentences of it.
struct SelectionTrace {
  std::array<TraceCandidate, kTileSizesQ.size()> candidates{};
  std::uint8_t candidate_count = 0;
  std::array<TracePass, kRefinements> passes{};
  std::uint8_t pass_count = 0;
  std::uint8_t missing_refinements = 0;  // bit 1 << Refinement: wanted, and the table has no row for it
  bool model_skipped = false;            // the default tile keeps the device busy
  bool default_missing = false;          // the first choice of the rules is not in the table
  KernelSelector wanted;                 // the first choice
  std::uint32_t looked_up = 0;
  std::uint32_t over_shared_limit = 0;  // rows that need more shared memory than the device has
  std::uint32_t refused_targets = 0;    // rows that the policy forbids
  std::uint32_t not_launchable = 0;     // rows whose shape does not fit the problem
};

// The answer, to "is it supported?" and to "run it" alike. A plain value; `row` points into the index's rows.
struct Selection {
  bool found = false;
  const KernelRow* row = nullptr;  // null with assumes_all_kernels: `kernel` is the row that would be
  KernelFacts kernel;
  LaunchConfiguration launch;
  WorkspaceSizes workspace;
  KernelCost cost;  // of the kernel by the cost model
  SelectionTrace trace;
};

// Chooses a kernel for a problem. Pure: the same arguments give the same answer, whatever the order of the
// table's rows; nothing is opened, loaded or asked but the occupancy oracle. Not found is an answer (its
// trace says what was looked for); an error is a problem or device that makes no sense (check_problem).
Result<Selection> select(const AttentionProblem& problem, const DeviceFacts& device, const KernelIndex& index,
                         const SelectionPolicy& policy);

}  // namespace cubinet
