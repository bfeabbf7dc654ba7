// SPDX-License-Identifier: Apache-2.0
#include "decode_alternatives.hpp"

#include "decode_division.hpp"
#include "decode_plan.hpp"
#include "rounding.hpp"

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

constexpr const char* kTileQ = "tile_size_q";
constexpr const char* kTileKv = "tile_size_kv";
constexpr const char* kStages = "stages";
// The most values that are tried of a range without an end.
constexpr std::int64_t kMostValues = 16;

// Returns the values that a parameter may have.
std::vector<std::uint32_t> values_of(const KernelTemplate& kernel_template, std::string_view name) {
  std::vector<std::uint32_t> values;
  for (const ParameterDeclaration& declaration : kernel_template.parameters()) {
    if (declaration.name != name) continue;
    for (const ParameterValue& value : declaration.values)
      values.push_back(static_cast<std::uint32_t>(std::get<std::int64_t>(value)));
    if (!values.empty() || !declaration.minimum || !declaration.maximum) break;
    const std::int64_t first = std::get<std::int64_t>(*declaration.minimum);
    const std::int64_t last = std::min(std::get<std::int64_t>(*declaration.maximum), first + kMostValues);
    for (std::int64_t value = first; value <= last; value += declaration.multiple_of)
      values.push_back(static_cast<std::uint32_t>(value));
  }
  return values;
}

// The most CTAs per SM of the powers of two that are timed wherever the cost model's choice is.
constexpr std::uint64_t kMostBlocks = 4;

// Returns the numbers of splits that are timed: around the cost model's choice, and powers of two
// with which the grid stays small. A model that is wrong about small grids is wrong by large
// factors.
std::set<std::uint32_t> splits_around(std::uint32_t chosen, const PlanRequest& request,
                                      const DecodeTile& tile) {
  const AttentionProblem& problem = request.problem;
  std::set<std::uint32_t> around;
  const std::uint64_t tiles = std::uint64_t{problem.batch} * problem.heads_kv *
                              divide_up(problem.group_size() * problem.q_len, tile.q);
  const std::uint64_t steps = divide_up(problem.kv_len, tile.kv);
  for (std::uint32_t splits = 2; splits <= std::min<std::uint64_t>(steps, kMaximumDecodeSplits) &&
                                 tiles * splits <= kMostBlocks * request.device.sm_count;
       splits *= 2)
    around.insert(splits);
  for (const std::uint32_t splits :
       {1U, chosen / 2, chosen * 3 / 4, chosen - 1, chosen, chosen + 1, chosen * 3 / 2, chosen * 2}) {
    if (splits >= 1 && splits <= kMaximumDecodeSplits) around.insert(splits);
  }
  return around;
}

}  // namespace

std::optional<DecodeTile> tile_of(const KernelSpec& kernel) {
  DecodeTile tile;
  for (const auto& [name, size] :
       {std::pair{kTileQ, &tile.q}, {kTileKv, &tile.kv}, {kStages, &tile.stages}}) {
    const auto parameter = kernel.parameters.find(name);
    if (parameter == kernel.parameters.end()) return std::nullopt;
    const auto* value = std::get_if<std::int64_t>(&parameter->second);
    if (value == nullptr || *value < 1 || *value > INT32_MAX) return std::nullopt;
    *size = static_cast<std::uint32_t>(*value);
  }
  return tile;
}

std::vector<FamilyAlternative> decode_alternatives(const PlanRequest& request, const DecodeFamily& family,
                                                   const KernelTemplate& kernel_template) {
  std::vector<FamilyAlternative> alternatives;
  const auto add_tile = [&](const DecodeTile& tile) {
    const auto kernel = kernel_template.resolve(decode_specification(family, request.problem, tile));
    if (!kernel) return;
    PlanRequest tried = request;
    const auto chosen = plan_decode(tried, family, std::vector{tile});
    if (!chosen) return;
    tried.options.kernel = chosen->spec;
    alternatives.push_back({tried.options, chosen->cost.time});
    for (const std::uint32_t splits : splits_around(chosen->splits, request, tile)) {
      tried.options.splits = splits;
      const auto planned = plan_decode(tried, family, std::vector{tile});
      if (planned) alternatives.push_back({tried.options, planned->cost.time});
    }
  };
  for (const std::uint32_t q : values_of(kernel_template, kTileQ)) {
    for (const std::uint32_t kv : values_of(kernel_template, kTileKv)) {
      for (const std::uint32_t stages : values_of(kernel_template, kStages))
        add_tile({q, kv, stages});
    }
  }
  return alternatives;
}

}  // namespace cubinet
