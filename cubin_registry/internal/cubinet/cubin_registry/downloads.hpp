// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/callback.hpp>
#include <cubinet/cubin_registry/store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A home's record of a server's channel (docs/formats/downloads.md). A plain value.
struct KnownChannel {
  std::string place;  // the reference, as the user writes it
  // The manifest of the last answer, and the previous one.
  std::optional<Sha256Digest> manifest = {};
  std::optional<Sha256Digest> before = {};
  std::optional<Sha256Digest> pinned = {};  // the pinned manifest, used independent of the server
  std::int64_t asked = 0;                   // time of the last answer, in seconds since the epoch
  StoreUses uses = {};                      // by every process that could write the home

  // Records that the channel named this manifest at this time.
  void answered(const Sha256Digest& named, std::int64_t seconds) {
    if (manifest && *manifest != named) before = manifest;
    manifest = named;
    asked = seconds;
  }
};

// The content of servers that a home stores for later processes: pieces by digest, and the state of
// channels. Everything except pins may be removed at any time. Thread-safe, and any number of
// processes may share a home. If the home cannot be written, changes return unavailable.
class Downloads {
 public:
  virtual ~Downloads() = default;

  // Returns the bytes of this digest, at most `limit` of them, after verifying them. Returns
  // nullopt if they are missing or damaged; damaged ones are removed.
  virtual Result<std::optional<Bytes>> find(const Sha256Digest& digest, std::uint64_t limit) = 0;
  // Returns whether a file of this digest and size exists. Only find() verifies it.
  virtual Result<bool> has(const Sha256Digest& digest, std::uint64_t size) = 0;
  // Stores bytes, or removes them. REQUIRES: the digest is that of the bytes.
  virtual Result<void> keep(const Sha256Digest& digest, ByteView bytes) = 0;
  virtual Result<void> forget(const Sha256Digest& digest) = 0;

  // Locks content while it is fetched, so that others wait and then find it. The kernel releases
  // the lock when its owner dies. Logs a line and returns nullptr if there are no locks or another
  // process holds it for longer than `limit`: then each fetches for itself.
  virtual std::unique_ptr<BuildLock> lock(const Sha256Digest& what, std::chrono::milliseconds limit) = 0;

  // Returns the record of a channel. For an unknown one, only the name is set. Returns untrusted if
  // others could have written the record, corruption if it is damaged.
  virtual Result<KnownChannel> channel(const std::string& place) = 0;
  // Changes a record. Changes are serialised, also between processes: `change` gets the latest
  // record.
  virtual Result<void> change(const std::string& place, const Callback<void(KnownChannel&)>& change) = 0;
  // Prefers the builds of a bundle to those of other bundles while the channel is pinned to the
  // manifest. Adds to the builds that were given for the same manifest before.
  virtual Result<void> prefer(const std::string& place, const Sha256Digest& manifest,
                              const CubinRecords& builds) = 0;
  // Returns all records, ordered by channel.
  virtual Result<std::vector<KnownChannel>> channels() = 0;
};

}  // namespace cubinet
