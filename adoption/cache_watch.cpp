// SPDX-License-Identifier: Apache-2.0
#include "cache_entries.hpp"

#include <cubinet/adoption/cache_watch.hpp>
#include <cubinet/base/text.hpp>

#include <ctime>
#include <limits>

namespace cubinet {
namespace {

// Returns the time before which a file must have changed to be at rest.
std::int64_t latest_change_at_rest(std::chrono::seconds rest) {
  if (rest.count() == 0) return std::numeric_limits<std::int64_t>::max();
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  return (now - rest).count();
}

// Visits the entries of a cache. A folder that does not exist has none.
Result<void> visit_cache(const CacheTool& tool, const std::string& folder, const VisitEntry& visit) {
  const auto opened = CacheFolder::open(folder);
  if (opened) return visit_entries(tool, *opened, visit);
  if (opened.error().code == ErrorCode::not_found) return {};
  return opened.error();
}

}  // namespace

Result<ToolCache> ToolCache::parse(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
    return Error{ErrorCode::invalid_argument,
                 "'" + printable(text, kQuotedBytes) + "' is not the cache of a tool",
                 "name the tool and its folder: triton=/srv/triton"};
  ToolCache cache{text.substr(0, sign), text.substr(sign + 1)};
  CUBINET_TRY(check_cache_tool(cache.tool));
  return cache;
}

void CacheWatch::leave_out(const ToolCache& cache, const std::vector<std::string>& entries) {
  const auto tool = find_cache_tool(cache.tool);
  if (!tool || entries.empty()) return;
  const std::set<std::string> named(entries.begin(), entries.end());
  // An entry of a cache that cannot be read is adopted again later, which changes nothing.
  (void)visit_cache(
      **tool, cache.folder,
      [&](const CacheFolder& folder, const std::string& name, const std::string& entry) -> Result<void> {
        if (named.contains(entry)) known_[{cache.folder, entry}] = folder.last_change(name);
        return {};
      });
}

WatchReport CacheWatch::adopt(WritableStore& store, std::chrono::seconds rest) {
  WatchReport report;
  for (const ToolCache& cache : caches_)
    adopt_from(cache, store, rest, report);
  return report;
}

// Visits the cache twice: the versions that entries state are known after the first visit.
void CacheWatch::adopt_from(const ToolCache& cache, WritableStore& store, std::chrono::seconds rest,
                            WatchReport& report) {
  const auto tool = find_cache_tool(cache.tool);
  if (!tool) return report.errors.push_back(tool.error());
  const std::int64_t latest = latest_change_at_rest(rest);
  std::string version;
  bool is_unstated_left = false;
  const VisitEntry visit = [&](const CacheFolder& folder, const std::string& name,
                               const std::string& entry) -> Result<void> {
    const std::int64_t change = folder.last_change(name);
    std::int64_t& known = known_[{cache.folder, entry}];
    if (change == 0 || change == known || change > latest) return {};
    auto files = read_entry(**tool, folder, name);
    const auto facts = files ? (*tool)->read(entry, *files) : Result<EntryFacts>(files.error());
    if (facts && !facts->version.empty()) stated_[cache.tool].insert(facts->version);
    if (facts && facts->version.empty() && version.empty()) {
      is_unstated_left = true;
      return {};
    }
    const auto image = facts ? image_of_entry(**tool, entry, *files, *facts,
                                              facts->version.empty() ? version : std::string())
                             : Result<Cubin>(facts.error());
    // Another process may have written while the files were read.
    if (folder.last_change(name) != change) return {};
    if (!image) {
      known = change;
      report.left_out.push_back({entry, image.error().message});
      return {};
    }
    CUBINET_TRY_ASSIGN(const bool is_new, keep_entry(store, *image));
    known = change;
    if (is_new) ++report.adopted[cache.tool];
    return {};
  };
  auto visited = visit_cache(**tool, cache.folder, visit);
  if (visited && is_unstated_left) {
    version = version_of(cache.tool, store);
    visited = visit_cache(**tool, cache.folder, visit);
  }
  if (!visited) report.errors.push_back(visited.error());
}

std::string CacheWatch::version_of(const std::string& tool, WritableStore& store) const {
  const auto stated = stated_.find(tool);
  if (stated != stated_.end() && stated->second.size() == 1) return *stated->second.begin();
  const auto versions = versions_in(store, tool);
  return versions && versions->size() == 1 ? *versions->begin() : kUnstatedVersion;
}

}  // namespace cubinet
