// SPDX-License-Identifier: Apache-2.0
#include "cache_tool.hpp"

#include <cubinet/adoption/adoption.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <algorithm>
#include <array>

namespace cubinet {

std::span<const CacheTool* const> cache_tools() {
  static constexpr std::array<const CacheTool*, 3> kTools = {&kTritonCache, &kDeepJitCache, &kCudaCoreCache};
  return kTools;
}

Result<const CacheTool*> find_cache_tool(std::string_view name) {
  std::vector<std::string> known;
  for (const CacheTool* tool : cache_tools()) {
    if (tool->name == name) return tool;
    known.emplace_back(tool->name);
  }
  const std::vector<std::string> near = nearest_names(name, known);
  return Error{ErrorCode::invalid_argument, "no cache of '" + printable(name, kQuotedBytes) + "' is known",
               (near.empty() ? std::string() : "did you mean " + join(near, " or ") + "? ") + "There are " +
                   join(known)};
}

Result<void> check_cache_tool(std::string_view name) {
  CUBINET_TRY(find_cache_tool(name));
  return {};
}

bool is_lower_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

const CacheFile* find_file(std::span<const CacheFile> files, std::string_view name) {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const CacheFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

Error not_taken(std::string reason) {
  return Error{ErrorCode::unsupported, std::move(reason)};
}

Result<EntryFacts> read_cubin(ByteView image) {
  CUBINET_TRY_ASSIGN(const CubinInspection inspection, inspect_cubin(image));
  const TargetKind untold = inspection.excludes_specific ? TargetKind::baseline : TargetKind::specific;
  EntryFacts facts;
  facts.target = {inspection.capability.major, inspection.capability.minor, inspection.kind.value_or(untold)};
  if (auto known = SmTarget::parse(facts.target.to_string()); !known) return std::move(known).error();
  if (inspection.kernels.size() == 1) facts.kernel = inspection.kernels.front();
  const std::string release = release_of_cubin(image);
  facts.toolchain = release.empty() ? "" : "CUDA " + release;
  return facts;
}

}  // namespace cubinet
