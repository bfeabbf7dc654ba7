// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet {

// An entry that is not taken, or not put, and why not.
struct LeftOut {
  std::string entry;  // as the tool calls it
  std::string reason;
};

struct AdoptionReport {
  std::string tool;           // whose cache it is: "triton", "deepjit", "cuda.core"
  CubinRecords adopted;       // that the store did not have before
  std::uint64_t present = 0;  // that it had, byte for byte
  std::vector<LeftOut> left_out;
};

// Takes the entries of another compiler's cache into a store, each as one image of ImageKind::cache_entry
// under what its tool, the tool's version and its name there are (docs/adoption.md). An earlier adoption of
// the same entry with other bytes goes. Follows no symbolic link below `folder`. `version`: the tool's, for
// what its files do not tell; empty: such entries are left out. not_found where the folder is no cache that
// is known.
Result<AdoptionReport> adopt_cache(WritableStore& store, const std::string& folder,
                                   const std::string& version);

struct MaterializeRequest {
  std::string tool;     // "triton", "deepjit", "cuda.core"
  std::string version;  // of the tool that is to find them
  ComputeCapability device;
  std::string folder;  // where it looks; made where it is missing
  // What runs on the host is put as well: somebody who is trusted has signed what the store holds.
  bool host_code = false;
};

struct MaterializeReport {
  std::vector<std::string> written;  // entries
  std::uint64_t present = 0;         // that lay there, byte for byte
  std::vector<LeftOut> left_out;     // of this tool's
};

// Puts those entries of a tool that it would take on such a device into the folder where it looks: files that
// nobody may write, in folders that the tool may. Each entry appears as a whole or not at all, and none takes
// the place of another. invalid_argument for a tool that is not known.
Result<MaterializeReport> materialize_cache(Store& store, const MaterializeRequest& request);

}  // namespace cubinet
