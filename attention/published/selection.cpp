// SPDX-License-Identifier: Apache-2.0
#include "selection.hpp"

#include "candidate_shapes.hpp"
#include "rounding.hpp"
#include "wanted_rows.hpp"

#include <algorithm>

namespace cubinet {
namespace {

// The bytes of shared memory that newer rules leave free (reserves_shared_memory).
constexpr std::uint64_t kFreeSharedBytes = 1024;
// The most KV tokens of a CTA for which 16 splits in a cluster are preferred to more
// (limits_splits_to_cluster).
constexpr std::uint64_t kLongestClusterTokens = 4096;
// The kernels of clusters_single_latent.
constexpr std::uint32_t kSingleLatentPage = 32;
constexpr std::uint16_t kSingleLatentColumns = 128;
constexpr std::uint16_t kSingleLatentTile = 16;

// A state with an existing kernel, evaluated with that kernel's own metadata.
struct Attempt {
  KernelState state;
  const KernelRow* row = nullptr;
  KernelFacts kernel;
  LaunchConfiguration launch;
};

std::uint8_t bit(Refinement refinement) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(refinement));
}

// Returns the traits of an assumed row: those of the published rows of its kind.
KernelTraits assumed_traits(const AttentionProblem& problem, const KernelSelector& selector) {
  KernelTraits traits;
  const bool context = selector.kernel_type == KernelType::context;
  const bool wide = problem.head_dim_v >= 256;
  const bool mla_keeps = problem.is_mla_generation() && selector.kernel_type == KernelType::keeps_mma_ab;
  traits.groups_heads_q = !context;
  traits.step_q = context && !wide ? 256 : selector.tile_size_q;
  traits.step_kv = context || mla_keeps || selector.tile_size_kv == 64 ? 128 : 256;
  return traits;
}

class Search {
 public:
  Search(const AttentionProblem& problem, const DeviceFacts& device, const KernelIndex& index,
         const SelectionPolicy& policy)
      : problem_(problem),
        device_(device),
        index_(index),
        policy_(policy),
        costs_(policy.costs != nullptr ? *policy.costs : *default_cost_model()),
        wanted_(problem, policy.rules) {}

  Selection run() {
    const CandidateShapes shapes =
        candidate_shapes(problem_, device_.sm_count, policy_.mla_swaps_tokens, policy_.rules);
    selection_.trace.wanted = wanted_.preferred(initial_state(shapes.shapes[0]));
    if (shapes.compared > 0 && compare(shapes)) return selection_;
    for (std::size_t i = shapes.compared; i < shapes.count; ++i) {
      if (i > 0) selection_.trace.default_missing = true;
      if (const auto attempt = first_attempt(shapes.shapes[i]); attempt && settle(*attempt)) {
        return selection_;
      }
    }
    selection_.trace.default_missing = true;
    return selection_;
  }

 private:
  bool may_use(const KernelRow& row) {
    const std::uint64_t reserve = policy_.rules.reserves_shared_memory ? kFreeSharedBytes : 0;
    if (row.shared_bytes + reserve > device_.shared_limit()) {
      ++selection_.trace.over_shared_limit;
      return false;
    }
    if (policy_.targets.allows(row.target)) return true;
    ++selection_.trace.refused_targets;
    return false;
  }

  std::optional<Attempt> evaluate(const KernelState& state, const KernelRow* row, const KernelFacts& kernel) {
    auto launch = configure_launch(problem_, kernel, device_.sm_count, most_splits(state, kernel));
    if (!launch) {
      ++selection_.trace.not_launchable;
      return std::nullopt;
    }
    return Attempt{state, row, kernel, *launch};
  }

  // Returns the best row of one selector that the policy and the device allow.
  std::optional<Attempt> look_up(const KernelState& state, const KernelSelector& selector) {
    ++selection_.trace.looked_up;
    if (policy_.assumes_all_kernels) {
      const std::uint32_t threads =
          problem_.head_dim_v >= 256 && state.shape.type != KernelType::swaps_mma_ab ? 384 : 512;
      return evaluate(state, nullptr, {selector, assumed_traits(problem_, selector), 0, threads});
    }
    const auto numbers = index_.find(selector);
    for (const bool family_only : {true, false}) {
      if (family_only && !policy_.targets.prefers_family) continue;
      for (const std::uint32_t number : numbers) {
        const KernelRow& row = index_.row(number);
        if (family_only && row.target.kind != TargetKind::family) continue;
        if (!may_use(row)) continue;
        auto attempt = evaluate(state, &row, {row.selector, row.traits, row.shared_bytes, row.threads});
        if (attempt) return attempt;
      }
    }
    return std::nullopt;
  }

  // Returns whether the table may have a kernel of this state that combines splits in a cluster.
  bool has_cluster_row(KernelState state) const {
    state.mode = MultiCtasKvMode::cga;
    const auto encodings = wanted_.encodings();
    return policy_.assumes_all_kernels ||
           std::any_of(encodings.begin(), encodings.end(), [&](const RowEncoding& encoding) {
             return !index_.find(wanted_.selector(state, encoding)).empty();
           });
  }

  // Returns the most KV splits of a state: those of a cluster, where these read so few KV tokens
  // that a cluster is faster than more splits without one.
  std::uint32_t most_splits(const KernelState& state, const KernelFacts& kernel) const {
    const bool measured_slower = problem_.q_len > 1 && problem_.head_dim_v == 256;
    if (!policy_.rules.limits_splits_to_cluster || !state.may_cluster || measured_slower ||
        problem_.head_dim_v >= 512 || has_minimum_latency() || state.shape.type != KernelType::swaps_mma_ab ||
        divide_up(kv_reach(problem_, kernel.traits.step_kv), kMaximumCluster) > kLongestClusterTokens) {
      return kUnlimited;
    }
    const bool clusters =
        state.mode == MultiCtasKvMode::cga || (state.mode == MultiCtasKvMode::gmem && has_cluster_row(state));
    return clusters ? kMaximumCluster : kUnlimited;
  }

  std::optional<Attempt> attempt(const KernelState& state) {
    for (const RowEncoding& encoding : wanted_.encodings()) {
      if (auto found = look_up(state, wanted_.selector(state, encoding))) return found;
    }
    return std::nullopt;
  }

  // Returns the state before any refinement: KV is split through global memory, with a second
  // launch for MLA kernels that keep A and B.
  KernelState initial_state(const Shape& shape) const {
    KernelState state;
    state.shape = shape;
    if (shape.type == KernelType::context) {
      state.scheduler = TileScheduler::persistent;
    } else if (policy_.splits_kv) {
      const bool separate = (problem_.is_mla_generation() && shape.type == KernelType::keeps_mma_ab) ||
                            splits_wide(problem_, shape.type, policy_.rules);
      state.mode = separate ? MultiCtasKvMode::gmem_separate : MultiCtasKvMode::gmem;
    }
    return state;
  }

  // Returns the initial state of a shape, or its fallback: another reduction, then no split.
  std::optional<Attempt> first_attempt(const Shape& shape) {
    KernelState state = initial_state(shape);
    if (auto found = attempt(state)) return found;
    if (state.mode == MultiCtasKvMode::gmem_separate) {
      state.mode = MultiCtasKvMode::gmem;
      if (auto found = attempt(state)) return found;
    }
    if (state.mode == MultiCtasKvMode::gmem && shape.type == KernelType::swaps_mma_ab) {
      state.mode = MultiCtasKvMode::cga;
      if (auto found = attempt(state); found && cga_serves(*found)) return found;
    }
    state.mode = MultiCtasKvMode::disabled;
    const bool was_static = initial_state(shape).mode == MultiCtasKvMode::disabled &&
                            initial_state(shape).scheduler == TileScheduler::static_grid;
    state.scheduler = TileScheduler::persistent;
    if (auto found = attempt(state)) return found;
    if (was_static) return std::nullopt;
    state.scheduler = TileScheduler::static_grid;
    return attempt(state);
  }

  // Applies the cost model: fills the trace and settles on the fastest existing tile. Each
  // candidate starts from the same initial state and uses only its own row.
  bool compare(const CandidateShapes& shapes) {
    std::array<std::optional<Attempt>, kTileSizesQ.size()> attempts;
    SelectionTrace& trace = selection_.trace;
    attempts[0] = first_attempt(shapes.shapes[0]);
    trace.default_missing = !attempts[0].has_value();
    if (attempts[0] && attempts[0]->launch.total_ctas() * policy_.busy_share > device_.sm_count) {
      trace.model_skipped = true;
      if (settle(*attempts[0])) return true;
      trace.default_missing = true;
    }
    std::array<std::size_t, kTileSizesQ.size()> order{};
    for (std::size_t i = 0; i < shapes.compared; ++i) {
      order[i] = i;
      if (i > 0) attempts[i] = first_attempt(shapes.shapes[i]);
      TraceCandidate& candidate = trace.candidates[i];
      candidate.tile_size_q = shapes.shapes[i].tile_size_q;
      if (attempts[i]) rate(*attempts[i], candidate);
    }
    if (!trace.model_skipped) trace.candidate_count = static_cast<std::uint8_t>(shapes.compared);
    // The sort is stable, so ties keep the larger tile.
    std::stable_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shapes.compared),
        [&](std::size_t a, std::size_t b) { return trace.candidates[a].time < trace.candidates[b].time; });
    for (std::size_t i = 0; i < shapes.compared; ++i) {
      const auto& candidate = attempts[order[i]];
      if (candidate && settle(*candidate)) return true;
    }
    return false;
  }

  void rate(const Attempt& attempt, TraceCandidate& candidate) const {
    const std::uint64_t ctas = attempt.launch.total_ctas();
    candidate.exists = true;
    candidate.kv_splits = attempt.launch.ctas_kv;
    candidate.ctas = ctas;
    candidate.time = cost_of(attempt).time;
  }

  KernelCost cost_of(const Attempt& attempt) const {
    KernelWork work;
    work.cost_class = CostClass::tile_waves;
    work.implementation = kPublishedImplementation;
    work.device = device_.capability;
    work.multiprocessors = device_.sm_count;
    work.tile_size_q = attempt.state.shape.tile_size_q;
    work.splits = attempt.launch.ctas_kv;
    work.longest_tokens = main_loop_length(problem_, attempt.kernel, attempt.launch);
    work.blocks = static_cast<double>(attempt.launch.total_ctas());
    return costs_.cost(work);
  }

  bool has_minimum_latency() const {
    return problem_.is_mla_generation() && problem_.batch == 1 && problem_.q_len <= 16;
  }

  bool cga_serves(const Attempt& current) const {
    const bool excluded =
        has_minimum_latency() || (problem_.head_dim_v == 512 && !policy_.rules.clusters_at_512_columns);
    if (excluded && !is_clustered_single_latent(current.state.shape)) return false;
    return current.launch.ctas_kv > 1 && current.launch.ctas_kv <= kMaximumCluster &&
           current.state.shape.type == KernelType::swaps_mma_ab;
  }

  // Returns whether a cluster combines the splits of a single latent sequence.
  bool is_clustered_single_latent(const Shape& shape) const {
    return policy_.rules.clusters_single_latent && has_minimum_latency() && problem_.q_len == 1 &&
           problem_.sparse == SparseAttention::none && problem_.tokens_per_page == kSingleLatentPage &&
           shape.head_dim_per_cta_v == kSingleLatentColumns && shape.tile_size_q == kSingleLatentTile;
  }

  // Returns the states that a refinement would move to, the preferred one first. Empty if the
  // refinement does not apply.
  Choices<KernelState> targets(Refinement refinement, const Attempt& current) const {
    Choices<KernelState> list;
    KernelState next = current.state;
    const std::uint64_t ctas = current.launch.total_ctas();
    switch (refinement) {
      case Refinement::no_split:
        if (next.mode == MultiCtasKvMode::disabled || current.launch.ctas_kv > 1) break;
        next.mode = MultiCtasKvMode::disabled;
        next.scheduler = TileScheduler::persistent;
        list.add(next);
        next.scheduler = TileScheduler::static_grid;
        list.add(next);
        break;
      case Refinement::tile_kv64:
        if (!policy_.tries_tile_size_kv64 || current.launch.ctas_kv <= 1 || !problem_.is_mla_generation() ||
            problem_.sparse != SparseAttention::none || ctas >= device_.sm_count ||
            next.tile_size_kv != 128) {
          break;
        }
        next.tile_size_kv = 64;
        list.add(next);
        break;
      case Refinement::cga:
        if (next.mode != MultiCtasKvMode::gmem || !cga_serves(current)) break;
        next.mode = MultiCtasKvMode::cga;
        list.add(next);
        break;
      case Refinement::head_dim_split: {
        if (!problem_.is_mla_generation() || next.shape.two_cta || next.shape.groups_tokens ||
            next.shape.head_dim_per_cta_v != 512) {
          break;
        }
        const std::uint64_t weight = has_minimum_latency() ? 1 : 2;
        if (ctas * weight > device_.sm_count) break;
        if (ctas * weight * 2 <= device_.sm_count) {
          next.shape.head_dim_per_cta_v = 128;
          list.add(next);
        }
        next.shape.head_dim_per_cta_v = 256;
        list.add(next);
        break;
      }
      case Refinement::cga_fallback:
        next.mode = MultiCtasKvMode::gmem;
        next.may_cluster = false;
        list.add(next);
        break;
      case Refinement::none:
        break;
    }
    return list;
  }

  // Moves `current` if the refinement applies, has not fired and has a kernel.
  bool fire(Refinement refinement, Attempt& current, std::uint8_t& fired) {
    if ((fired & bit(refinement)) != 0) return false;
    const Choices<KernelState> states = targets(refinement, current);
    if (states.count == 0) return false;
    fired |= bit(refinement);
    for (const KernelState& state : states) {
      if (auto next = attempt(state)) {
        current = *next;
        record_pass(refinement, current);
        return true;
      }
    }
    selection_.trace.missing_refinements |= bit(refinement);
    return false;
  }

  void record_pass(Refinement because, const Attempt& current) {
    SelectionTrace& trace = selection_.trace;
    trace.passes[trace.pass_count++] = {because, current.kernel.selector, current.launch.ctas_kv,
                                        current.launch.total_ctas()};
  }

  // Refines an attempt to the kernel that is launched. Returns false if that one cannot be
  // launched. The loop ends because each iteration either leaves or fires one of five refinements
  // for the first time. So there are at most kRefinements passes, the capacity of the trace.
  bool settle(Attempt current) {
    std::uint8_t fired = 0;
    selection_.trace.pass_count = 0;
    selection_.trace.missing_refinements = 0;
    record_pass(Refinement::none, current);
    while (true) {
      if (fire(Refinement::no_split, current, fired) || fire(Refinement::tile_kv64, current, fired) ||
          fire(Refinement::cga, current, fired) || fire(Refinement::head_dim_split, current, fired)) {
        continue;
      }
      const std::uint32_t active = active_clusters(current);
      if (std::uint64_t{active} * current.launch.cluster_x >= current.launch.total_ctas()) break;
      if (fire(Refinement::cga_fallback, current, fired)) continue;
      if (active == 0) return false;
      break;  // several waves of clusters are slower, but correct
    }
    finish(current);
    return true;
  }

  // Returns the clusters of the kernel that the device holds at once. Without an oracle it returns
  // the clusters of the grid.
  std::uint32_t active_clusters(const Attempt& current) const {
    const bool known = current.state.mode == MultiCtasKvMode::cga && current.row != nullptr &&
                       policy_.maximum_active_clusters != nullptr;
    if (known) return policy_.maximum_active_clusters(*current.row, current.launch.cluster_x);
    return kUnlimited;
  }

  void finish(const Attempt& current) {
    selection_.found = true;
    selection_.row = current.row;
    selection_.kernel = current.kernel;
    selection_.launch = current.launch;
    selection_.cost = cost_of(current);
    selection_.workspace = workspace_sizes(problem_, current.kernel, current.launch, device_.sm_count,
                                           policy_.keeps_stats_of_ragged);
  }

  const AttentionProblem& problem_;
  const DeviceFacts& device_;
  const KernelIndex& index_;
  const SelectionPolicy& policy_;
  const CostModel& costs_;
  WantedRows wanted_;
  Selection selection_;
};

}  // namespace

std::string_view to_string(Refinement refinement) {
  constexpr std::array<std::string_view, kRefinements> kNames = {"none", "no_split",       "tile_kv64",
                                                                 "cga",  "head_dim_split", "cga_fallback"};
  const auto number = static_cast<std::size_t>(refinement);
  return number < kNames.size() ? kNames[number] : "unknown";
}

Result<Selection> select(const AttentionProblem& problem, const DeviceFacts& device, const KernelIndex& index,
                         const SelectionPolicy& policy) {
  CUBINET_TRY(check_problem(problem));
  CUBINET_TRY(check_device(device));
  return Search(problem, device, index, policy).run();
}

}  // namespace cubinet
