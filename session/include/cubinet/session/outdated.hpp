// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/session_options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

struct OutdatedOptions {
  // Channels of servers, as in ServerOptions::reference. Empty: every channel that the home knows.
  std::vector<std::string> references = {};
  std::vector<std::string> bundles = {};  // files, compared with the channels that they state
};

// A channel or a bundle's file, compared with the manifest that the channel names now.
struct Comparison {
  std::string what;                         // a reference or a file
  std::optional<std::uint64_t> here = {};   // the version that is used here; nullopt: none
  std::optional<std::uint64_t> there = {};  // the version that the channel names now; nullopt: unknown
  std::string channel = {};                 // as the newer bundle states it
  bool same = false;                        // both have the same manifest, or the file is as new
  bool pinned = false;                      // the home has pinned its manifest
  std::optional<Error> error = {};          // why nothing could be compared

  bool outdated() const { return !error && !same; }
};

struct OutdatedResult {
  std::vector<Comparison> results;

  // Returns whether nothing is outdated and everything could be compared.
  bool current() const;
};

// Queries servers for the manifests that their channels name now, and compares these with the home
// and with bundle files. A server that does not answer becomes a Comparison with an error. Errors:
// invalid_argument for a reference without a channel, and the errors of Home::open and
// Bundle::open.
Result<OutdatedResult> outdated(const SessionOptions& session, const OutdatedOptions& options = {});

// Returns the JSON that `cubinet outdated --json` prints.
std::string to_json(const OutdatedResult& result);

}  // namespace cubinet
