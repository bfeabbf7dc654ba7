// SPDX-License-Identifier: Apache-2.0
#include "decode_alternatives.hpp"

#include "decode_division.hpp"
#include "decode_plan.hpp"

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

// Returns the numbers of splits that are timed, around the cost model's choice.
std::set<std::uint32_t> splits_around(std::uint32_t chosen) {
  std::set<std::uint32_t> around;
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
    for (const std::uint32_t splits : splits_around(chosen->splits)) {
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
