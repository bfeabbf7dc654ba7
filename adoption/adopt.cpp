// SPDX-License-Identifier: Apache-2.0
#include "cache_entries.hpp"

#include <cubinet/adoption/adoption.hpp>
#include <cubinet/base/text.hpp>

namespace cubinet {
namespace {

Result<Cubin> read_image(const CacheTool& tool, const CacheFolder& folder, const std::string& name,
                         const std::string& entry, const std::string& version) {
  CUBINET_TRY_ASSIGN(std::vector<CacheFile> files, read_entry(tool, folder, name));
  CUBINET_TRY_ASSIGN(const EntryFacts facts, tool.read(entry, files));
  return image_of_entry(tool, entry, files, facts, version);
}

}  // namespace

Result<AdoptionReport> adopt_cache(WritableStore& store, const std::string& folder,
                                   const std::string& version) {
  CUBINET_TRY_ASSIGN(const CacheFolder cache, CacheFolder::open(folder));
  for (const CacheTool* tool : cache_tools()) {
    AdoptionReport report;
    report.tool = tool->name;
    std::uint64_t entries = 0;
    CUBINET_TRY(visit_entries(
        *tool, cache,
        [&](const CacheFolder& place, const std::string& name, const std::string& entry) -> Result<void> {
          ++entries;
          auto image = read_image(*tool, place, name, entry, version);
          if (!image) {
            report.left_out.push_back({entry, image.error().message});
            return {};
          }
          CUBINET_TRY_ASSIGN(const bool is_new, keep_entry(store, *image));
          if (is_new) {
            report.adopted.push_back(image->record);
          } else {
            ++report.present;
          }
          return {};
        }));
    if (entries > 0) return report;
  }
  return Error{
      ErrorCode::not_found, "'" + printable(folder) + "' is no cache that is known, or an empty one",
      "name the folder that Triton (TRITON_CACHE_DIR), DeepJIT (DJ_JIT_CACHE_DIR, which has `cache`) or "
      "cuda.core (which has `entries`) was given"};
}

}  // namespace cubinet
