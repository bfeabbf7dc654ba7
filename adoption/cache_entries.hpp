// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_folder.hpp"
#include "cache_tool.hpp"

#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/spec/cubin.hpp>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Visits the entry `entry` of a cache, which has the name `name` in `folder`. An error ends the
// visits.
using VisitEntry =
    std::function<Result<void>(const CacheFolder& folder, const std::string& name, const std::string& entry)>;

// Visits every entry of the tool in a cache folder, in the order of their names.
Result<void> visit_entries(const CacheTool& tool, const CacheFolder& cache, const VisitEntry& visit);

// Reads the files of an entry. Temporary files and locks of the tool are left out.
Result<std::vector<CacheFile>> read_entry(const CacheTool& tool, const CacheFolder& folder,
                                          const std::string& name);

// Returns the image that an entry is stored as. `files` and `facts` are those of CacheTool::read.
// `version` is the tool's version if the files do not state it. Returns an error with the reason if
// neither does, or if they differ.
Result<Cubin> image_of_entry(const CacheTool& tool, const std::string& entry,
                             const std::vector<CacheFile>& files, const EntryFacts& facts,
                             const std::string& version);

// Publishes the image and removes the images that were adopted earlier for the same entry. Returns
// whether the store did not have it.
Result<bool> keep_entry(WritableStore& store, const Cubin& image);

// Returns the specification of a stored entry of this tool; nullopt if the record is of something
// else.
Result<std::optional<KernelSpec>> entry_of(const CubinRecord& record, std::string_view tool);
// Returns the value of a text parameter; "" if there is none.
std::string parameter_text(const KernelSpec& spec, std::string_view parameter);
// Returns the versions of a tool's entries in a store.
Result<std::set<std::string>> versions_in(Store& store, std::string_view tool);

}  // namespace cubinet
