// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/adoption/adoption.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cubinet {

// A cache folder of a tool.
struct ToolCache {
  std::string tool;  // "triton", "deepjit", "cuda.core"
  std::string folder;

  // Parses "TOOL=FOLDER". Returns invalid_argument for another form or an unknown tool.
  static Result<ToolCache> parse(const std::string& text);
  friend bool operator==(const ToolCache&, const ToolCache&) = default;
};

struct WatchReport {
  std::map<std::string, std::uint64_t> adopted = {};  // new in the store, by tool
  std::vector<LeftOut> left_out = {};
  std::vector<Error> errors = {};  // the entries concerned are tried again in the next call
};

// Adopts what other processes add to caches while it exists. Reads an entry again only if one of
// its files has changed. Not thread-safe. Several watches, in several processes, may share caches
// and store.
class CacheWatch {
 public:
  // A folder that does not exist counts as empty.
  explicit CacheWatch(std::vector<ToolCache> caches) : caches_(std::move(caches)) {}

  const std::vector<ToolCache>& caches() const { return caches_; }
  // Leaves out these entries of a cache until they change.
  void leave_out(const ToolCache& cache, const std::vector<std::string>& entries);

  // Adopts the new and changed entries whose files have not changed for `rest`. The others, and
  // those that could not be stored, are left for the next call. An entry's version is what its
  // files state, otherwise the one version of the tool's other entries in its caches, otherwise
  // that of the store's entries, otherwise kUnstatedVersion.
  WatchReport adopt(WritableStore& store, std::chrono::seconds rest);

 private:
  using EntryKey = std::pair<std::string, std::string>;  // folder and entry

  void adopt_from(const ToolCache& cache, WritableStore& store, std::chrono::seconds rest,
                  WatchReport& report);
  std::string version_of(const std::string& tool, WritableStore& store) const;

  std::vector<ToolCache> caches_;
  std::map<EntryKey, std::int64_t> known_;               // the last change of each entry that was read
  std::map<std::string, std::set<std::string>> stated_;  // the versions that entries state, by tool
};

}  // namespace cubinet
