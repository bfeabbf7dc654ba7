// SPDX-License-Identifier: Apache-2.0
#include "decode_alternatives.hpp"

#include "decode_division.hpp"
#include "decode_plan.hpp"

#include <cubinet/attention/tuning_candidates.hpp>
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

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

// Returns the names of the library headers that a source includes, directly or indirectly.
std::set<std::string> library_headers(const std::string& source) {
  constexpr std::string_view directive = "#include <";
  std::set<std::string> names;
  std::vector<const std::string*> unread = {&source};
  while (!unread.empty()) {
    const std::string& text = *unread.back();
    unread.pop_back();
    for (auto at = text.find(directive); at != std::string::npos; at = text.find(directive, at + 1)) {
      const auto begin = at + directive.size();
      const auto header = embedded_headers().find(text.substr(begin, text.find('>', begin) - begin));
      if (header != embedded_headers().end() && names.insert(header->first).second)
        unread.push_back(&header->second);
    }
  }
  return names;
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

std::vector<DecodeAlternative> decode_alternatives(const PlanRequest& request, const DecodeFamily& family,
                                                   const KernelTemplate& kernel_template) {
  std::vector<DecodeAlternative> alternatives;
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

std::string version_of(const KernelTemplate& kernel_template) {
  ByteWriter text;
  text.string(kernel_template.source());
  text.string(kernel_template.base().text);
  for (const auto& [name, header] : kernel_template.headers()) {
    text.string(name);
    text.string(header);
  }
  for (const std::string& name : library_headers(kernel_template.source())) {
    text.string(name);
    text.string(embedded_headers().at(name));
  }
  return "interface " + std::to_string(kernel_template.interface_version()) + ", text " +
         sha256(text.bytes()).to_hex().substr(0, 16);
}

}  // namespace cubinet
