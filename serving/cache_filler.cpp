// SPDX-License-Identifier: Apache-2.0
#include "cache_filler.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/distribution/server_store.hpp>

#include <map>
#include <set>
#include <string>

namespace cubinet {
namespace {

// Returns whether host code may be put from the store. REQUIRES: the store was listed, because a
// server opens its bundle then.
bool may_put_host_code(const std::shared_ptr<Store>& store) {
  const auto bundle = bundle_of(store);
  return bundle != nullptr && has_trusted_signatures(*bundle);
}

}  // namespace

std::vector<std::string> CacheFiller::fill(const ToolCache& cache,
                                           const std::vector<std::shared_ptr<Store>>& stores,
                                           ServeWarmReport& report) const {
  std::set<std::string> there;
  std::map<std::string, std::string> left_out;  // the reasons by entry
  ServeWarmReport::Counts& counts = report.tools[cache.tool];
  for (const auto& store : stores) {
    // Reports a store that cannot be read once, instead of for each device.
    if (const auto listed = store->list(); !listed) continue;
    for (const ComputeCapability device : devices_) {
      const auto done =
          materialize_cache(*store, {cache.tool, "", device, cache.folder, may_put_host_code(store)});
      if (const Error* error = !done ? &done.error() : done->error ? &*done->error : nullptr)
        log(log_, LogLevel::warning,
            "not everything is put into '" + printable(cache.folder) + "': " + error->to_line());
      if (!done) continue;
      for (const std::string& entry : done->written)
        counts.put += there.insert(entry).second ? 1U : 0U;
      for (const std::string& entry : done->present)
        counts.present += there.insert(entry).second ? 1U : 0U;
      for (const LeftOut& each : done->left_out)
        left_out.emplace(each.entry, each.reason);
    }
  }
  for (const auto& [entry, reason] : left_out) {
    if (there.contains(entry)) continue;
    ++counts.left_out;
    log(log_, LogLevel::info, "not put: " + printable(entry) + ": " + printable(reason));
  }
  return {there.begin(), there.end()};
}

}  // namespace cubinet
