// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/session/session_options.hpp>
#include <cubinet/session/transfer_progress.hpp>
#include <cubinet/session/trust_report.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet {

struct MirrorBundleOptions {
  std::string source;                     // a server and its bundle, as in ServerOptions::reference
  std::vector<std::string> mirrors = {};  // of the source, contacted next
  std::string destination;                // a server; without a channel it gets that of the source
  ServerAccess destination_access = {};   // SessionOptions::access is that of the source
  Callback<void(const TransferProgress&)> progress = {};  // as PullOptions::progress
  Callback<bool()> cancelled = {};                        // as PullOptions::cancelled
};

struct MirrorBundleResult {
  std::string reference;      // the destination and the manifest
  std::string manifest;       // its SHA-256, 64 hexadecimal digits
  std::string channel;        // of the destination, which names the manifest now; empty: none
  std::uint64_t version = 0;  // as the bundle states it
  std::uint64_t bytes = 0;    // of the bundle
  TrustReport trust = {};
};

// Returns whether a server's reference names a bundle, by its channel or its manifest. Returns
// invalid_argument if the text is not a reference.
Result<bool> names_bundle(const std::string& reference);

// Copies a whole bundle from one server to another: the manifest, unchanged, and everything that it
// names. The source's policy judges the bundle first. Blobs that the destination already has are
// not sent. Errors are those of pull(), and those of push() for the destination.
Result<MirrorBundleResult> mirror_bundle(const SessionOptions& session, const MirrorBundleOptions& options);

// Returns the JSON that `cubinet mirror --json` prints for a bundle.
std::string to_json(const MirrorBundleResult& result);

}  // namespace cubinet
