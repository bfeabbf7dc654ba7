// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/trust/trust_policy.hpp>
#include <cubinet/trust/verification.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cubinet {

struct ChannelOptions {
  ServerReference reference;              // with a channel or a manifest
  std::shared_ptr<ContentServer> server;  // the server that it names
  std::shared_ptr<Home> home = nullptr;   // has the pins and the manifests that were seen; nullptr: none
  std::optional<TrustPolicy> policy = {};
  LogSink log = {};
  std::shared_ptr<FileSystem> files = nullptr;  // for the versions seen; nullptr: the operating system's
};

// A manifest that a channel stands for.
struct ChannelManifest {
  Sha256Digest digest;
  // The home has pinned it: it may be older than a version that was seen, but never less signed.
  bool pinned = false;
};

// The use that a bundle of a channel is opened for.
struct ChannelUse {
  Expiry expiry = Expiry::enforced;
  bool remembers_version = true;  // as the newest version seen, which refuse_older compares with
};

// An open bundle of a channel. Only its root and its signatures have been fetched.
struct ChannelBundle {
  RemoteBundle remote;
  std::shared_ptr<const ByteSource> source;
  std::shared_ptr<Bundle> bundle;
  ChannelManifest manifest;
};

// A channel of a server, or one manifest on it, together with what a home knows of it. This is the only place
// that decides which manifest a reference means, which policy its bundle is opened under and what is
// remembered. Thread-safe.
class Channel {
 public:
  explicit Channel(ChannelOptions options);

  const std::string& place() const { return place_; }  // ServerReference::to_full_string()

  // Returns what the home knows of the channel: without a home only its place.
  Result<KnownChannel> known() const;
  // Asks the server which manifest the channel names now. not_found if it has no such channel.
  Result<ChannelManifest> newest() const;
  // Returns the manifest that the reference names, else the one that the home has pinned, else the newest.
  Result<ChannelManifest> current() const;

  // Opens the bundle of a manifest. The policy judges the root and the signatures before a byte of the pack
  // is fetched.
  Result<ChannelBundle> open(const ChannelManifest& manifest, const ChannelUse& use = {}) const;
  // Returns the root of a manifest's bundle, also of an expired one. Its version is not remembered.
  Result<BundleRoot> root(const ChannelManifest& manifest) const;

  // Writes into the home that the channel names this manifest now. Does nothing without a writable home, for
  // a pinned manifest and for a reference that names a manifest. Logs a warning if the home cannot be
  // written.
  void remember(const ChannelManifest& manifest) const;
  // Lets the home prefer these builds to those of other bundles while the channel is pinned to the manifest.
  // Does nothing unless it is pinned.
  Result<void> prefer(const ChannelManifest& manifest, const CubinRecords& builds) const;

 private:
  const ChannelOptions options_;
  const std::string place_;
};

}  // namespace cubinet
