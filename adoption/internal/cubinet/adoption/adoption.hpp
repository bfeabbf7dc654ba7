// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// An entry that is not adopted or not materialised, and the reason.
struct LeftOut {
  std::string entry;  // the tool's name of the entry
  std::string reason;
};

struct AdoptionReport {
  std::string tool;           // the tool that owns the cache: "triton", "deepjit", "cuda.core"
  CubinRecords adopted;       // new in the store
  std::uint64_t present = 0;  // entries that the store had already, byte for byte
  std::vector<LeftOut> left_out;
};

// Adopts the entries of another compiler's cache into a store. Each becomes one image of
// ImageKind::cache_entry, identified by its tool, the tool's version and its name in the cache
// (docs/adoption.md). Replaces an earlier adoption of the same entry with other bytes. Follows no
// symbolic link below `folder`. `version` is the tool's version for entries whose files do not
// state it; if it is empty, such entries are left out. Returns not_found if the folder is not a
// known cache.
Result<AdoptionReport> adopt_cache(WritableStore& store, const std::string& folder,
                                   const std::string& version);

// Returns invalid_argument, with the known tools, for a name that is none of them.
Result<void> check_cache_tool(std::string_view name);

// Returns whether enough trusted keys for the threshold of the bundle's policy have signed it. Only
// then may its host code be materialised.
bool has_trusted_signatures(const Bundle& bundle);

// The version of entries of which nothing says which version of the tool made them. They are
// materialised for every version: the tool's name of an entry covers its version.
inline constexpr const char* kUnstatedVersion = "unstated";

struct MaterializeRequest {
  std::string tool;     // "triton", "deepjit", "cuda.core"
  std::string version;  // of the tool that will read the entries; empty: entries of every version
  ComputeCapability device;
  // The folder that the tool reads. Created if it is missing and there is an entry for it.
  std::string folder;
  // If true, host code is written too. The policy of the store must then have required trusted
  // signatures.
  bool host_code = false;
};

struct MaterializeReport {
  std::vector<std::string> written;  // entries
  std::vector<std::string> present;  // entries that existed already, byte for byte
  std::vector<LeftOut> left_out;     // entries of this tool
  // The first failure to write. Nothing is written after it. Existing entries are still reported.
  std::optional<Error> error = {};
};

// Writes the entries that a tool would use on this device into the folder that it reads. Files are
// read-only; the tool may write to the folders. Each entry appears as a whole, and none replaces
// another. Returns an error if the tool is unknown (invalid_argument), the store cannot be listed,
// or the folder cannot be opened.
Result<MaterializeReport> materialize_cache(Store& store, const MaterializeRequest& request);

}  // namespace cubinet
