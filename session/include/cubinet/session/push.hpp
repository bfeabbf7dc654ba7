// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/session_options.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace cubinet {

struct PushOptions {
  std::string bundle;  // a file; FILE.<key id>.minisig beside it are its signatures
  // The server, as in ServerOptions::reference. A folder without file:// must exist. Without a
  // channel, the bundle's own is used.
  std::string reference;
};

struct PushResult {
  std::string reference;         // the server and the manifest: "oci://host/name@sha256:…"
  std::string manifest;          // its SHA-256, 64 hexadecimal digits
  std::string channel;           // the channel that names the manifest now; empty: none
  std::uint64_t signatures = 0;  // that were uploaded
  // The version that the channel named before, if that is newer.
  std::optional<std::uint64_t> older_than = {};
};

// Uploads a bundle and its signatures, then makes the channel name it. Blobs that the server
// already has are not sent. Readers see either the previous bundle or the whole new one.
//
// Logs a warning if the channel named a newer version.
//
// Errors: invalid_argument for a reference that names a manifest, and if the bundle's own channel
// is used and no server can have a channel of that name; not_found for a folder that does not
// exist; and the errors of Bundle::open and of the server.
Result<PushResult> push(const SessionOptions& session, const PushOptions& options);

// Returns the JSON that `cubinet push --json` prints.
std::string to_json(const PushResult& result);

}  // namespace cubinet
