// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/session_options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A manifest to pin. At most one of the last three fields is set. If none is set, the manifest that
// the channel named last is pinned.
struct PinOptions {
  std::string reference;      // a server's channel, as in ServerOptions::reference
  std::string manifest = {};  // its SHA-256, with or without "sha256:"
  bool before = false;        // if true, the manifest that the channel named before the last one
  // The manifest of this version, among those that the home has seen and the one that the channel
  // names now.
  std::optional<std::uint64_t> version = {};
};

struct PinResult {
  std::string reference;                   // the channel
  std::optional<std::string> pinned = {};  // the SHA-256 of the manifest; nullopt: the channel is followed
};

// Pins a manifest in the home, whatever the channel names. Pulls and server stores then use it,
// even if it is older than a version that was seen. It must still be signed. Contacts the server
// only if `version` is set.
//
// Errors: invalid_argument for a reference without a channel; not_found if the home knows no such
// manifest; and the errors of Home::open.
Result<PinResult> pin_channel(const SessionOptions& session, const PinOptions& options);

// Makes the home follow the channel again. Returns not_found if the channel is not pinned.
Result<PinResult> unpin_channel(const SessionOptions& session, const std::string& reference);

// Returns the JSON that `cubinet channel pin --json` prints.
std::string to_json(const PinResult& result);

// A bundle of a channel, as far as the home has it.
struct KnownBundle {
  std::optional<std::string> manifest = {};   // its SHA-256; nullopt: none is known
  std::optional<std::uint64_t> version = {};  // nullopt: the home does not have the bundle's root
};

// A channel that the home knows.
struct KnownChannelState {
  std::string reference;
  KnownBundle pinned = {};
  KnownBundle named = {};   // by the channel's last answer
  KnownBundle before = {};  // by the answer before
  std::int64_t asked = 0;   // the time of the last answer, in seconds since 1970
};
struct ChannelList {
  std::vector<KnownChannelState> channels;
};

// Returns the channels that the home knows, by reference; none if there is no home yet. Contacts no
// server.
Result<ChannelList> list_channels(const SessionOptions& session);

// Returns the JSON that `cubinet channel list --json` prints.
std::string to_json(const ChannelList& list);

}  // namespace cubinet
