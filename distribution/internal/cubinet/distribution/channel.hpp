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
  // stores the pins and the manifests that were seen; nullptr: none
  std::shared_ptr<Home> home = nullptr;
  std::optional<TrustPolicy> policy = {};
  LogSink log = {};
  // stores the versions seen; nullptr: the operating system's
  std::shared_ptr<FileSystem> files = nullptr;
};

// The manifest that a channel names.
struct ChannelManifest {
  Sha256Digest digest;
  // If true, the home has pinned it. It may be older than a version that was seen, but needs the
  // same signatures.
  bool pinned = false;
};

// The use that a bundle of a channel is opened for.
struct ChannelUse {
  Expiry expiry = Expiry::enforced;
  // If true, it is remembered as the newest version seen, for refuse_older.
  bool remembers_version = true;
};

// An open bundle of a channel. Only its root and its signatures have been fetched.
struct ChannelBundle {
  RemoteBundle remote;
  std::shared_ptr<const ByteSource> source;
  std::shared_ptr<Bundle> bundle;
  ChannelManifest manifest;
};

// A channel of a server, or one manifest on it, together with the home's record of it. Only this
// class decides which manifest a reference means, which policy its bundle is opened under and what
// is remembered. Thread-safe.
class Channel {
 public:
  explicit Channel(ChannelOptions options);

  const std::string& place() const { return place_; }  // ServerReference::to_full_string()

  // Returns the home's record of the channel. Without a home it contains only the channel's name.
  Result<KnownChannel> known() const;
  // Queries the server for the manifest that the channel names now. Returns not_found if there is
  // no such channel.
  Result<ChannelManifest> newest() const;
  // Returns the manifest that the reference names, else the one that the home has pinned, else the
  // newest.
  Result<ChannelManifest> current() const;

  // Opens the bundle of a manifest. Applies the policy to the root and the signatures before
  // fetching the pack. Under a policy that requires signatures, the root must state the channel of
  // the reference, if that names one.
  Result<ChannelBundle> open(const ChannelManifest& manifest, const ChannelUse& use = {}) const;
  // Returns the root of a manifest's bundle, even if it has expired. Does not remember its version.
  Result<BundleRoot> root(const ChannelManifest& manifest) const;

  // Returns the version of the bundle that the channel named last, and logs a warning, if that is
  // newer than this one. Knows it only if the home still has its root. Contacts no server.
  std::optional<std::uint64_t> newer_before(const ChannelBundle& opened) const;

  // Records in the home that the channel names this manifest now. Does nothing without a writable
  // home, for a pinned manifest or for a reference that names a manifest. Logs a warning if the
  // home cannot be written.
  void remember(const ChannelManifest& manifest) const;
  // Makes the home prefer these builds to those of other bundles while the channel is pinned to the
  // manifest. Does nothing unless it is pinned.
  Result<void> prefer(const ChannelManifest& manifest, const CubinRecords& builds) const;

 private:
  Result<ChannelBundle> open_as(const ChannelManifest& manifest, const ChannelUse& use,
                                std::optional<TrustPolicy> policy) const;

  const ChannelOptions options_;
  const std::string place_;
};

}  // namespace cubinet
