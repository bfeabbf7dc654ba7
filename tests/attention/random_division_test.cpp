// SPDX-License-Identifier: Apache-2.0
#include "decode_fixture.hpp"
#include "random_problems.hpp"

#include <cubinet/base/callback.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

// Plans of decode attention for random problems, whose work is divided as the kernels divide it.
namespace cubinet {
namespace {

using namespace test::decode;

// Divides the work of one KV head as attention/work_division.cuh and attention/partials.cuh do.
class DeviceDivision {
 public:
  DeviceDivision(const AttentionProblem& problem, const DecodePlan& plan, std::uint32_t slice,
                 std::uint32_t cluster)
      : problem_(problem), p_(plan.parameters), tile_q_(plan.tile.q), slice_(slice), cluster_(cluster) {}

  struct Tile {
    std::int64_t begin;  // in work units
    std::int64_t end;
    std::int64_t counter;  // of the first block of its cluster
  };
  struct WorkItem {
    std::size_t tile;
    std::int64_t begin;
    std::int64_t end;
    std::int64_t slot;  // of the first block of its cluster
  };

  std::vector<Tile> tiles(const std::vector<std::int32_t>& kv_lengths,
                          const std::vector<std::int32_t>& q_lengths) const {
    std::vector<Tile> tiles;
    std::int64_t before = 0;
    for (std::size_t sequence = 0; sequence < kv_lengths.size(); ++sequence) {
      const std::int64_t rows = std::int64_t{problem_.group_size()} * q_lengths[sequence];
      const std::int64_t each = units(kv_lengths[sequence], q_lengths[sequence]);
      const std::int64_t of_cluster = std::int64_t{tile_q_} * cluster_;
      for (std::int64_t tile = 0; tile < (rows + of_cluster - 1) / of_cluster; ++tile) {
        tiles.push_back(
            {before, before + each, static_cast<std::int64_t>(sequence) * p_.q_tiles + tile * cluster_});
        before += each;
      }
    }
    return tiles;
  }

  std::vector<WorkItem> work_items(const std::vector<Tile>& tiles) const {
    std::vector<WorkItem> items;
    const std::int64_t total = tiles.empty() ? 0 : tiles.back().end;
    std::size_t tile = 0;
    for (std::int64_t block = 0; block < p_.blocks.divisor / cluster_; ++block) {
      const std::int64_t first = block * share(total);
      const std::int64_t last = std::min(first + share(total), total);
      for (std::int64_t unit = first; unit < last; unit = items.back().end) {
        while (tiles[tile].end <= unit)
          ++tile;
        const bool is_unit = p_.split_is_unit != 0;
        const std::int64_t slot = is_unit ? unit : 2 * block + (tiles[tile].begin > first ? 1 : 0);
        items.push_back({tile, unit, is_unit ? unit + 1 : std::min(last, tiles[tile].end), slot * cluster_});
      }
    }
    return items;
  }

  // Returns the slots from which the block that combines a tile reads its partial results.
  std::vector<std::int64_t> slots(const Tile& tile, std::int64_t total) const {
    std::vector<std::int64_t> slots;
    if (p_.split_is_unit != 0) {
      for (std::int64_t unit = tile.begin; unit < tile.end; ++unit)
        slots.push_back(unit * cluster_);
      return slots;
    }
    const std::int64_t first = tile.begin / share(total);
    for (std::int64_t block = first; block <= (tile.end - 1) / share(total); ++block) {
      const bool begins = block > first || tile.begin == first * share(total);
      slots.push_back((2 * block + (begins ? 0 : 1)) * cluster_);
    }
    return slots;
  }

 private:
  std::int64_t units(std::int64_t length, std::int64_t q_len) const {
    const auto own_end = [&](std::int64_t token) {
      return std::max<std::int64_t>(length - q_len + token + 1, 0);
    };
    const std::int64_t oldest =
        problem_.is_windowed() ? std::max<std::int64_t>(own_end(0) - problem_.window, 0) : 0;
    const std::int64_t end = problem_.mask == AttentionMask::causal ? own_end(q_len - 1) : length;
    const std::int64_t tokens = std::max<std::int64_t>(end - oldest / slice_ * slice_, 0);
    return std::max<std::int64_t>((tokens + p_.unit.divisor - 1) / p_.unit.divisor, 1);
  }
  std::int64_t share(std::int64_t total) const {
    const std::int64_t blocks = p_.blocks.divisor;
    return std::max<std::int64_t>((total * cluster_ + blocks - 1) / blocks, p_.min_units);
  }

  const AttentionProblem& problem_;
  const kernel_templates::AttentionDecodeParameters& p_;
  std::int64_t tile_q_;
  std::int64_t slice_;
  std::int64_t cluster_;
};

AttentionProblem random_work(test::Dice& dice) {
  AttentionProblem problem = test::random_sizes(test::random_kind(dice), dice);
  if (problem.batch > 1) problem.batch = std::min(problem.batch * dice.size(1, 40), 3000U);
  problem.kv_len = std::max(std::min(problem.kv_len * dice.size(1, 60), 200'000U), problem.q_len);
  return problem;
}

// Returns sequence lengths equal to the planned ones, or shorter. With ragged queries, some
// sequences have fewer tokens or none.
std::vector<std::int32_t> some_lengths(std::uint32_t longest, std::uint32_t batch, bool shorter,
                                       test::Dice& dice) {
  std::vector<std::int32_t> lengths(batch, static_cast<std::int32_t>(longest));
  for (std::int32_t& length : lengths) {
    if (shorter && dice.one_of(2))
      length = dice.one_of(6) ? 0 : static_cast<std::int32_t>(dice.size(1, std::max(longest, 1U)));
  }
  return lengths;
}

void check_division(const AttentionProblem& problem, const DecodePlan& made, const DecodeBlock& block,
                    test::Dice& dice) {
  const DeviceDivision division(problem, made, block.slice, block.cluster);
  const auto kv_lengths = some_lengths(problem.kv_len, problem.batch, dice.one_of(2), dice);
  const auto q_lengths = some_lengths(problem.q_len, problem.batch, problem.ragged_q, dice);
  const auto tiles = division.tiles(kv_lengths, q_lengths);
  const std::int64_t total = tiles.empty() ? 0 : tiles.back().end;
  const auto items = division.work_items(tiles);
  const auto tile_rows = static_cast<std::uint64_t>(made.parameters.partial_rows);
  const std::uint64_t rows = problem.heads_kv * tile_rows;
  const auto slots = static_cast<std::int64_t>(made.workspace.partial_stats_bytes / (sizeof(float) * rows));
  const auto counters =
      static_cast<std::int64_t>(made.workspace.counter_bytes / sizeof(std::int32_t) / problem.heads_kv);
  std::int64_t done = 0;
  std::set<std::int64_t> taken;
  std::vector<std::vector<std::int64_t>> of_tiles(tiles.size());
  bool sound = true;
  for (const DeviceDivision::WorkItem& item : items) {
    sound = sound && item.begin == done && item.end > item.begin && item.end <= tiles[item.tile].end;
    done = item.end;
    if (item.begin == tiles[item.tile].begin && item.end == tiles[item.tile].end) continue;
    of_tiles[item.tile].push_back(item.slot);
    sound = sound && taken.insert(item.slot).second && item.slot + block.cluster <= slots;
  }
  CHECK(sound);
  CHECK(done == total);
  for (std::size_t tile = 0; tile < tiles.size(); ++tile) {
    if (of_tiles[tile].empty()) continue;
    sound = sound && of_tiles[tile] == division.slots(tiles[tile], total);
    if (!made.combines_apart()) sound = sound && tiles[tile].counter + block.cluster <= counters;
  }
  CHECK(sound);
}

// Checks that the second kernel exists if the plan needs it, that the workspace is complete, and
// that the estimate is a time.
void check_plan(const AttentionProblem& problem, const DecodePlan& made,
                const Callback<bool(const KernelSpec&)>& has_kernel) {
  if (made.combines_apart()) {
    CHECK((!has_kernel || has_kernel(made.combine)));
    CHECK(made.workspace.counter_bytes == 0);
    CHECK(std::uint64_t{made.combine_grid[1]} * made.combine_grid[2] ==
          std::uint64_t{problem.q_len} * problem.batch);
    CHECK(std::max(made.combine_grid[1], made.combine_grid[2]) <= 65'535);
  } else if (made.combines()) {
    CHECK(made.workspace.counter_bytes >=
          std::uint64_t{problem.batch} * made.q_tiles * problem.heads_kv * sizeof(std::int32_t));
  } else {
    CHECK(made.workspace == WorkspaceSizes{});
  }
  const CostTerms& terms = made.cost.terms;
  for (const double part : {terms.start, terms.read, terms.items, terms.turnover, terms.combine})
    CHECK((std::isfinite(part) && part >= 0));
  CHECK((std::isfinite(made.cost.time) && made.cost.time > 0));
  CHECK(made.grid[0] >= 1);
  CHECK(made.grid[0] <= kMostUnits);
}

// Returns nothing, so that every second kernel may be used, or a function that forbids all, or
// those of about half of the specifications.
Callback<bool(const KernelSpec&)> random_kernels(test::Dice& dice) {
  if (dice.one_of(2)) return {};
  if (dice.one_of(2)) return [](const KernelSpec&) { return false; };
  const std::size_t salt = dice.number() % 2;
  return [salt](const KernelSpec& spec) { return std::hash<std::string>()(spec.to_string()) % 2 == salt; };
}

TEST_CASE("Every unit of random problems is done once, and every partial result has a place of its own") {
  test::Dice dice(20261124);
  int planned = 0;
  int apart = 0;
  for (int i = 0; i < 3000; ++i) {
    AttentionProblem problem = random_work(dice);
    if (dice.one_of(2)) problem.kv_lengths = test::random_lengths(problem, dice);
    const DeviceFacts device = dice.pick({kHopper, kHopper, kAmpere, kGeForce});
    const auto has_kernel = random_kernels(dice);
    for (const DecodeFamily* family : decode_families(problem, device.capability)) {
      if (!family->gap(problem, device.capability).empty()) continue;
      PlanRequest asked = request(problem, device);
      if (dice.one_of(4)) asked.options.splits = dice.size(1, 256);
      if (!asked.options.splits && dice.one_of(4)) asked.options.split_tokens = 128 * dice.size(1, 40);
      const auto made = plan_decode(asked, *family, {}, has_kernel);
      if (!made) continue;  // no tile fits, or the plan needs a kernel that does not exist
      CAPTURE(i);
      CAPTURE(made->spec.to_string());
      check_plan(problem, *made, has_kernel);
      check_division(problem, *made, family->block(problem, made->tile), dice);
      ++planned;
      apart += made->combines_apart() ? 1 : 0;
    }
  }
  CHECK(planned > 3000);
  CHECK(apart > 300);
}

TEST_CASE("Problems of extreme sizes have estimates that are times, with lengths that are known or not") {
  test::Dice dice(20261128);
  int planned = 0;
  for (int i = 0; i < 400; ++i) {
    AttentionProblem problem = test::random_sizes(test::random_kind(dice), dice);
    problem.batch = dice.pick({1U, 2U, 133U, 4096U, 65'534U, 65'535U});
    problem.kv_len =
        std::max(problem.q_len, dice.pick({1U, 2U, 1000U, (1U << 20U) + 1, (1U << 30U) - 1, 1U << 30U}));
    if (problem.window != kUnlimited) problem.window = dice.pick({1U, 1000U, 1U << 30U});
    if (dice.one_of(2)) problem.numerics = AttentionNumerics::invariant;
    if (dice.one_of(2)) {
      problem.kv_lengths.assign(problem.batch, dice.pick({0, 1, static_cast<std::int32_t>(problem.kv_len)}));
      problem.kv_lengths.back() = dice.one_of(2) ? 0 : static_cast<std::int32_t>(problem.kv_len);
    }
    if (!check_problem(problem)) continue;
    const DeviceFacts device = dice.pick({kHopper, kHopper, kAmpere, kGeForce});
    const auto has_kernel = random_kernels(dice);
    for (const DecodeFamily* family : decode_families(problem, device.capability)) {
      if (!family->gap(problem, device.capability).empty()) continue;
      const auto made = plan_decode(request(problem, device), *family, {}, has_kernel);
      CAPTURE(i);
      CAPTURE(family->name);
      if (!made) {
        CHECK((made.error().code == ErrorCode::unsupported ||
               made.error().code == ErrorCode::invalid_argument));
        continue;
      }
      CAPTURE(problem.batch);
      CAPTURE(problem.kv_len);
      check_plan(problem, *made, has_kernel);
      ++planned;
    }
  }
  CHECK(planned > 200);
}

}  // namespace
}  // namespace cubinet
