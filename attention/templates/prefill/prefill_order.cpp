// SPDX-License-Identifier: Apache-2.0
#include "prefill_order.hpp"

#include "rounding.hpp"

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

// The most groups of equal tiles that are counted. With more, the SMs end at about the same time.
constexpr std::uint64_t kMostCountedGroups = 2048;

class Ctas {
 public:
  Ctas(std::uint64_t count, std::uint32_t step) : step_(step) { ends_[0] = {count, 0}; }

  // Gives `count` tiles of this many steps to the CTAs that end first.
  void take(std::uint64_t count, std::uint32_t steps) {
    while (count > 0) {
      const auto first = ends_.begin();
      const std::uint64_t taken = std::min(count, first->second.count);
      Ending& later = ends_[first->first + kStepsOfStart + steps];
      later.count += taken;
      later.tiles = std::max(later.tiles, first->second.tiles + 1);
      first->second.count -= taken;
      if (first->second.count == 0) ends_.erase(first);
      count -= taken;
    }
  }

  BusiestCta last() const {
    const auto& [end, ending] = *ends_.rbegin();
    return {static_cast<double>(end - kStepsOfStart * ending.tiles) * step_,
            static_cast<double>(ending.tiles)};
  }

 private:
  // The start and end of a tile take about as long as a step.
  static constexpr std::uint64_t kStepsOfStart = 1;

  struct Ending {
    std::uint64_t count = 0;  // CTAs
    std::uint64_t tiles = 0;  // the most of one of them
  };
  std::map<std::uint64_t, Ending> ends_;  // by the time in steps
  std::uint32_t step_;                    // tokens
};

}  // namespace

std::optional<BusiestCta> busiest_cta(const AttentionProblem& problem, const PrefillTile& tile,
                                      const PrefillBlock& block, const PrefillSplits& splits,
                                      std::uint32_t ctas) {
  if (!problem.is_generation() || problem.kv_lengths.empty()) return std::nullopt;
  const std::uint64_t rows = std::uint64_t{problem.q_len} * block.tile_heads;
  const std::uint64_t tiles_of_head = divide_up(rows, std::uint64_t{tile.q});
  if (tiles_of_head * problem.batch * splits.count > kMostCountedGroups) return std::nullopt;
  const std::uint64_t heads = std::uint64_t{problem.heads_q} / block.tile_heads * block.column_parts;
  const auto most = static_cast<std::uint32_t>(most_tokens_of_sequence(problem));
  Ctas working(ctas, tile.kv);
  for (std::uint64_t level = 0; level < tiles_of_head; ++level) {
    for (const std::int32_t length : problem.kv_lengths) {
      std::uint32_t rest = std::min(static_cast<std::uint32_t>(length), most);
      // A tile that sees no token has one step.
      do {
        const std::uint32_t tokens = splits.tokens == 0 ? rest : std::min(rest, splits.tokens);
        working.take(heads, std::max(divide_up(tokens, tile.kv), 1U));
        rest -= tokens;
      } while (rest > 0);
    }
  }
  return working.last();
}

}  // namespace cubinet
