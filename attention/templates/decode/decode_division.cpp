// SPDX-License-Identifier: Apache-2.0
#include "decode_division.hpp"

#include "decode_lengths.hpp"
#include "rounding.hpp"
#include "templates/invariant_numerics.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace cubinet {
namespace {

// The bytes of the shared memory of every CTA that the driver reserves. An SM has exactly this much
// more than the largest CTA may use (CUDA Programming Guide, "Technical specifications per compute
// capability").
constexpr std::uint32_t kReservedSharedBytes = 1024;
constexpr std::uint32_t kRegistersOfMultiprocessor = 65536;
// The most partial results of a tile that the last CTA to finish it combines before a second kernel
// would start, unless the family states another number.
constexpr std::uint32_t kMostPartialsInside = 4;
constexpr std::uint32_t kMostPartialsOfManyRows = 2;  // more than 32 rows, 16-bit KV
class DecodeDivision {
 public:
  DecodeDivision(const PlanRequest& request, const DecodeFamily& family, const FittingTile& tile,
                 bool can_combine)
      : request_(request),
        problem_(request.problem),
        family_(family),
        tile_(tile),
        can_combine_(can_combine) {}

  DecodeSplits splits() const {
    if (request_.options.split_tokens) return fixed_splits(*request_.options.split_tokens);
    return request_.options.splits ? forced_splits(*request_.options.splits) : best_splits();
  }

 private:
  // Returns the tokens that the queries of the longest sequence that may come read.
  std::uint32_t most_tokens() const { return readable_tokens(problem_, tile_.block.slice, problem_.kv_len); }

  // Returns the number of splits that the caller requests. Sequences that are too short for all of
  // them leave some CTAs without work.
  DecodeSplits forced_splits(std::uint32_t splits) const {
    const std::uint64_t grid = kMostUnits / problem_.heads_kv;
    return evaluate(splits, std::min(tiles() * splits, grid), 1);
  }

  // Returns splits that each cover the same tokens of their sequence, whatever the batch. A CTA
  // processes one after the other.
  DecodeSplits fixed_splits(std::uint32_t tokens) const {
    DecodeSplits fixed;
    fixed.unit = tokens;
    fixed.split_is_unit = true;
    fixed.count = divide_up(std::max(most_tokens(), 1U), tokens);
    fixed.combines_apart = fixed.count > 1;
    fixed.slots = tiles() * fixed.count;
    fixed.blocks = static_cast<std::uint32_t>(std::min(fixed.slots, most_blocks()));
    compare(fixed);
    return fixed;
  }

  DecodeSplits best_splits() const {
    const std::uint64_t all = tiles();
    const std::uint64_t limit = most_blocks();
    // If there are many tiles, a CTA processes several whole tiles.
    DecodeSplits best = evaluate(1, divide_up(all, divide_up(all, limit)));
    // Splits must gain at least 2.5%: they cost partial results, and more CTAs cost time if the
    // lengths differ.
    double least_time = 0.975 * best.compared_time;
    const auto keep_faster = [&](const DecodeSplits& candidate) {
      if (candidate.compared_time >= least_time) return;
      best = candidate;
      least_time = (1 - kLeastGain) * candidate.compared_time;
    };
    // Sequences that are shorter than planned may leave one unit for each CTA.
    const auto weigh = [&](std::uint32_t count, std::uint64_t blocks) {
      const DecodeSplits candidate = evaluate(count, blocks);
      keep_faster(candidate);
      if (knows_lengths() || candidate.min_units == 1) return;
      keep_faster(evaluate(count, blocks, 1));
    };
    // A CTA for each tile, also if sequences are shorter than planned.
    keep_faster(evaluate(1, best.blocks, 1));
    const bool is_latent = problem_.is_mla_generation();
    const std::uint32_t units = divide_up(lengths(best.unit).longest, best.unit);
    const std::uint32_t most = std::clamp(units, 1U, kMaximumDecodeSplits);
    for (std::uint32_t wanted = 2; wanted <= most && all * wanted <= limit; ++wanted) {
      const bool as_fewer = divide_up(units, divide_up(units, wanted)) != wanted;
      if (problem_.kv_lengths.empty() && as_fewer && (problem_.batch == 1 || is_latent)) continue;
      weigh(wanted, all * wanted);
    }
    // Tries the same number of CTAs for each SM, independent of where tiles end. If the CTAs do not
    // divide evenly, the other SMs wait for those that have one more. CTAs of latent attention have
    // an SM for themselves, so a second one would start when the first one ends. attention_latent
    // begins the next tile before; the other kernels lose 5 to 20 us between two tiles.
    if (is_latent && tile_.block.reader != KvReader::latent) return best;
    const std::uint64_t multiprocessors = request_.device.sm_count;
    for (std::uint64_t of_each = 1; of_each <= (is_latent ? 1 : limit); ++of_each) {
      const std::uint64_t blocks = of_each * multiprocessors / problem_.heads_kv;
      if (blocks > limit) break;
      const auto count = static_cast<std::uint32_t>(std::max<std::uint64_t>(blocks / all, 1));
      if (blocks > 0 && count <= most) weigh(count, blocks);
    }
    return best;
  }

  // Returns whether the lengths of the plan are those of a run. One sequence counts as longest: a
  // plan for shorter ones leaves CTAs without work, which cost little.
  bool knows_lengths() const { return !problem_.kv_lengths.empty() || problem_.batch == 1; }

  // Returns the tiles of one KV head.
  std::uint64_t tiles() const {
    return std::uint64_t{problem_.batch} * divide_up(problem_.group_size() * problem_.q_len, tile_.shape.q);
  }

  // Returns the most CTAs for one KV head: eight per SM, or as many as an SM holds. At that number,
  // the imbalance from different lengths is small compared to the work of a CTA. The partial
  // results of more CTAs would need a larger workspace.
  std::uint64_t most_blocks() const {
    constexpr std::uint32_t enough = 8;
    const std::uint64_t slots =
        std::uint64_t{request_.device.sm_count} * std::max(tile_.blocks_per_multiprocessor, enough);
    const std::uint64_t cluster = tile_.block.cluster;
    return std::max<std::uint64_t>(slots / problem_.heads_kv / cluster, 1) * cluster;
  }

  std::uint64_t whole_clusters(std::uint64_t blocks) const {
    const std::uint64_t cluster = tile_.block.cluster;
    return std::min(divide_up(blocks, cluster), kMostUnits / cluster) * cluster;
  }

  // Returns the most partial results of a tile in `count` equal parts with invariant numerics: one
  // of each segment, except that the CTA that begins the tile folds its own.
  std::uint32_t most_stored_segments(std::uint32_t count, std::uint32_t unit) const {
    const std::uint32_t segments = divide_up(most_tokens(), unit);
    return segments - divide_up(segments, count) + 1;
  }

  // Returns whether a second kernel folds the segments of invariant numerics. It is faster if it
  // has few rows, because its CTAs start beside the last ones of the first kernel. With one part
  // per tile, tiles are divided only if their lengths differ, and it would seldom have work.
  bool folds_apart(std::uint32_t count, std::uint32_t unit, std::uint32_t most_inside) const {
    constexpr std::uint64_t kFewRowsOfEach = 2;  // of an SM
    constexpr std::uint32_t kSeldom = 4;
    if (!can_combine_) return false;
    if (count == 1) return divide_up(most_tokens(), unit) > kSeldom * most_inside;
    const std::uint64_t rows = std::uint64_t{problem_.batch} * problem_.q_len * problem_.heads_q;
    return rows <= kFewRowsOfEach * request_.device.sm_count ||
           most_stored_segments(count, unit) > most_inside;
  }

  // Returns the splits with their cost. A CTA takes at least `min_units` units; by default two, or
  // one if the plan counts on one. With invariant numerics a unit is a segment, each of which may
  // have a slot.
  DecodeSplits evaluate(std::uint32_t count, std::uint64_t blocks,
                        std::optional<std::uint32_t> min_units = std::nullopt) const {
    DecodeSplits splits;
    splits.count = count;
    splits.blocks = static_cast<std::uint32_t>(whole_clusters(blocks));
    const bool many_rows = tile_.shape.q > 32 && !converts_kv(problem_);
    const std::uint32_t inside = many_rows ? kMostPartialsOfManyRows : kMostPartialsInside;
    const std::uint32_t most_inside = tile_.block.partials_inside.value_or(inside);
    splits.combines_apart = can_combine_ && count > most_inside;
    splits.unit = problem_.is_invariant() ? kInvariantSegment : tile_.shape.kv;
    // The unit is as coarse as necessary: the kernel counts the units of all tiles in 31 bits.
    const auto units = [&] {
      return static_cast<double>(tiles()) * std::max(divide_up(most_tokens(), splits.unit), 1U) +
             splits.blocks;
    };
    while (units() > kMostUnits && splits.unit < kMaximumKvLength && !problem_.is_invariant())
      splits.unit *= 2;
    constexpr double most_of_least = 2;
    if (problem_.is_invariant()) min_units = 1;
    splits.min_units = min_units.value_or(static_cast<std::uint32_t>(
        std::clamp(std::ceil(lengths(splits.unit).units * q_tiles() / splits.blocks), 1.0, most_of_least)));
    const bool one_unit = most_tokens() <= splits.unit;
    const bool one_sequence = problem_.batch == 1 && !problem_.ragged_q && splits.blocks == tiles();
    splits.slots = one_unit || one_sequence ? 0 : std::uint64_t{2} * splits.blocks;
    if (problem_.is_invariant() && splits.slots != 0) {
      splits.combines_apart = folds_apart(count, splits.unit, most_inside);
      splits.slots = tiles() * divide_up(most_tokens(), splits.unit);
    }
    compare(splits);
    return splits.combines_apart ? splits : sooner_combined(splits);
  }

  // Returns splits that are combined inside or, if one CTA would take longer for the many results
  // of a long sequence among short ones, by a second kernel.
  DecodeSplits sooner_combined(const DecodeSplits& inside) const {
    const Share share = share_of(inside, lengths(inside.unit));
    if (!can_combine_ || inside.slots == 0 || combine_rounds(share.partials) == 0) return inside;
    DecodeSplits apart = inside;
    apart.combines_apart = true;
    compare(apart);
    return apart.compared_time < inside.compared_time ? apart : inside;
  }

  // Sets the costs. If the lengths are not known, the time by which candidates are compared also
  // counts costs that do not shrink with the lengths, such as waves that are not full, and those of
  // uneven lengths, whose tiles CTAs share: it is a geometric mean, whose weights fit times on an
  // H200 (docs/kernels.md). Sequences of one or two steps are not shared.
  void compare(DecodeSplits& splits) const {
    splits.cost = cost(splits, lengths(splits.unit));
    splits.compared_time = splits.cost.time;
    if (knows_lengths()) return;
    const double shorter = cost(splits, lengths(splits.unit, AssumedLengths::shorter)).time;
    splits.compared_time = std::sqrt(splits.cost.time * shorter);
    constexpr std::uint32_t kTwoSteps = 128;
    if (problem_.kv_len <= kTwoSteps) return;
    const double uneven = cost(splits, lengths(splits.unit, AssumedLengths::uneven)).time;
    splits.compared_time = std::pow(splits.cost.time * splits.cost.time * shorter * uneven * uneven, 0.2);
  }

  // Returns the lengths, which are counted once for each unit.
  const DecodeLengths& lengths(std::uint32_t unit, AssumedLengths assumed = AssumedLengths::longest) const {
    DecodeLengths& kept = lengths_[static_cast<std::size_t>(assumed)];
    if (kept.unit != unit) kept = count_lengths(problem_, tile_.block.slice, unit, assumed);
    return kept;
  }

  std::uint32_t q_tiles() const { return divide_up(problem_.group_size() * problem_.q_len, tile_.shape.q); }

  // The part of the tiles of a KV head that a CTA computes.
  struct Share {
    double units = 0;
    double partials = 0;  // CTAs that share the longest sequence
  };

  Share share_of(const DecodeSplits& splits, const DecodeLengths& counted) const {
    const double all_units = counted.units * q_tiles();
    Share share;
    share.units = std::max(std::ceil(all_units / splits.blocks), static_cast<double>(splits.min_units));
    const double longest = divide_up(counted.longest, splits.unit);
    share.partials = std::min<double>(std::ceil(longest / share.units), splits.blocks);
    return share;
  }

  // Returns the partial results of all tiles of a KV head with invariant numerics. A CTA takes
  // `share` segments. The first tiles stand for all.
  double stored_segments(double share, const DecodeLengths& counted) const {
    double stored = 0;
    for (const std::uint32_t segments : counted.first)
      stored += segments > share ? segments - share + 1 : 0;
    return stored / static_cast<double>(counted.first.size()) * static_cast<double>(tiles());
  }

  KernelCost cost(const DecodeSplits& splits, const DecodeLengths& counted) const {
    const double all_units = counted.units * q_tiles();
    const auto [share, of_longest] = share_of(splits, counted);
    const double working = std::ceil(all_units / share);
    const double longest = std::min(share * splits.unit, counted.tokens * q_tiles());
    const std::uint32_t row_bytes = kv_row_bytes(problem_);
    KernelWork work;
    work.cost_class = CostClass::memory_traffic;
    work.implementation = family_.name;
    work.device = request_.device.capability;
    work.multiprocessors = request_.device.sm_count;
    work.blocks_per_multiprocessor = tile_.blocks_per_multiprocessor;
    work.tile_size_q = tile_.shape.q;
    work.warps = tile_.block.warps;
    work.reader = tile_.block.reader;
    work.element_bits = static_cast<std::uint32_t>(bits_of(problem_.data_type_k));
    work.row_bytes = row_bytes;
    work.splits = splits.split_is_unit ? splits.count : static_cast<std::uint32_t>(of_longest);
    work.combines_apart = splits.combines_apart;
    work.longest_tokens = static_cast<std::uint64_t>(longest);
    work.blocks = working * problem_.heads_kv;
    work.empty_blocks = (splits.blocks - working) * problem_.heads_kv;
    // A double, because the product of allowed sizes can exceed 2^63.
    work.bytes = counted.tokens * problem_.heads_kv * q_tiles() * row_bytes;
    work.largest_block_bytes = longest * row_bytes;
    const WorkItems items =
        splits.split_is_unit ? WorkItems{share, all_units} : work_items(share, working, counted);
    work.work_items = items.most;
    work.all_work_items = items.all * problem_.heads_kv;
    const std::uint64_t tile_rows = std::min(problem_.group_size() * problem_.q_len, tile_.shape.q);
    if (work.splits > 1) {
      const double partials =
          problem_.is_invariant() ? problem_.heads_kv * stored_segments(share, counted) : work.all_work_items;
      work.partial_bytes = partials * static_cast<double>(tile_rows * problem_.head_dim_v * sizeof(float));
      work.combine_rounds = combine_rounds(work.splits);
      work.combine_blocks = static_cast<double>(problem_.heads_q) * problem_.q_len * problem_.batch;
      work.sequences = problem_.batch;
    }
    work.ring_bytes = static_cast<double>(tile_.shape.stages) * tile_.shape.kv * row_bytes;
    return request_.costs().cost(work);
  }

  // Returns the rounds of loads in which one CTA combines the partial results of a tile, without
  // the first of each pass over its rows. A thread reads 8 elements of 4 results in a round
  // (attention/partials.cuh). A family that states its number has a way of its own.
  double combine_rounds(double partials) const {
    if (tile_.block.partials_inside) return 0;
    constexpr double at_once = 4;
    const std::uint32_t parts = tile_.shape.q * divide_up(problem_.head_dim_v, 8U);
    return divide_up(parts, tile_.block.threads) * std::max(partials / at_once - 1, 0.0);
  }

  // The work items of a KV head: the parts of tiles that CTAs compute.
  struct WorkItems {
    double most = 1;  // of one CTA
    double all = 1;
  };

  // Returns the work items of CTAs whose share is `share` units. Two tiles that meet inside of a
  // share are two items of one CTA.
  WorkItems work_items(double share, double working, const DecodeLengths& counted) const {
    const auto all_tiles = static_cast<double>(tiles());
    const auto whole_share = static_cast<std::uint64_t>(share);
    std::uint64_t offset = 0;  // of the tile in the share in which it begins
    std::uint32_t of_share = 0;
    std::uint32_t most = 1;
    std::uint32_t ended_together = 0;  // tiles that end where a share ends
    std::uint32_t tile = 0;
    const auto last_tile = static_cast<std::uint32_t>(std::min<double>(all_tiles, kCountedSequences));
    for (; tile < last_tile; ++tile) {
      of_share = offset == 0 ? 1 : of_share + 1;
      most = std::max(most, of_share);
      offset += counted.first[tile / q_tiles()];
      if (offset < whole_share) continue;
      offset %= whole_share;
      of_share = 1;
      ended_together += offset == 0 ? 1 : 0;
    }
    const double together = all_tiles > tile ? all_tiles * ended_together / tile : ended_together;
    // The last share ends with the last tile, even if it is not full.
    const double last = all_tiles == tile && offset != 0 ? 1 : 0;
    return {static_cast<double>(most), std::max(all_tiles + working - together - last, all_tiles)};
  }

  const PlanRequest& request_;
  const AttentionProblem& problem_;
  const DecodeFamily& family_;
  const FittingTile& tile_;
  bool can_combine_;
  mutable std::array<DecodeLengths, 3> lengths_ = {};  // by AssumedLengths
};

}  // namespace

std::optional<FittingTile> fitting_tile(const PlanRequest& request, const DecodeFamily& family,
                                        const DecodeTile& shape, std::uint32_t blocks) {
  const std::uint32_t multiprocessor_bytes = request.device.shared_limit() + kReservedSharedBytes;
  FittingTile tile{shape, family.block(request.problem, shape), 1};
  const std::uint32_t used = tile.block.shared_bytes + kReservedSharedBytes;
  if (std::uint64_t{used} * blocks > multiprocessor_bytes) return std::nullopt;
  const std::uint32_t by_registers =
      std::max(kRegistersOfMultiprocessor / (tile.block.threads * tile.block.registers), 1U);
  tile.blocks_per_multiprocessor = std::min(multiprocessor_bytes / used, by_registers);
  if (request.options.occupancy.empty()) return tile;
  const auto measured = request.occupancy_of(decode_specification(family, request.problem, shape));
  tile.blocks_per_multiprocessor = std::max(
      std::min(tile.blocks_per_multiprocessor, measured.value_or(tile.blocks_per_multiprocessor)), 1U);
  return tile;
}

DecodeSplits decode_splits(const PlanRequest& request, const DecodeFamily& family, const FittingTile& tile,
                           bool can_combine) {
  return DecodeDivision(request, family, tile, can_combine).splits();
}

}  // namespace cubinet
