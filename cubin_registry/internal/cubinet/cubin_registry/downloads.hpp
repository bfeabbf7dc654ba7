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

// What a home knows of a channel of a server. A plain value; docs/formats/downloads.md.
struct KnownChannel {
  std::string place;  // the reference, as a user writes it
  // The manifest that it named when it was asked last, and the one before that.
  std::optional<Sha256Digest> manifest = {};
  std::optional<Sha256Digest> before = {};
  std::optional<Sha256Digest> pinned = {};  // that it stays with, whatever the server says
  std::int64_t asked = 0;                   // when, in seconds since the epoch
  StoreUses uses = {};                      // by every process that could write the home

  // It was asked at this time, and names this.
  void answered(const Sha256Digest& named, std::int64_t seconds) {
    if (manifest && *manifest != named) before = manifest;
    manifest = named;
    asked = seconds;
  }
};

// What came from servers and is kept in a home, for the next process that wants it: pieces by their digests,
// and what channels named. All of it may be removed at any time but for the pins. Thread-safe, and any number
// of processes may share a home. In one that cannot be written whatever would change it is unavailable.
class Downloads {
 public:
  virtual ~Downloads() = default;

  // The bytes of this digest, at most `limit` of them, compared now; nullopt where they are not there, or
  // damaged, which removes them.
  virtual Result<std::optional<Bytes>> find(const Sha256Digest& digest, std::uint64_t limit) = 0;
  // Whether something of this digest and size is there: find() says what it is worth.
  virtual Result<bool> has(const Sha256Digest& digest, std::uint64_t size) = 0;
  // REQUIRES: the digest is theirs.
  virtual Result<void> keep(const Sha256Digest& digest, ByteView bytes) = 0;
  virtual Result<void> forget(const Sha256Digest& digest) = 0;

  // Held by whoever fetches this: others wait for it and then find it. Released by the kernel when its owner
  // dies. nullptr, after a line in the log, where there are no locks or somebody holds it for longer than
  // `limit`: then each fetches for itself.
  virtual std::unique_ptr<BuildLock> lock(const Sha256Digest& what, std::chrono::milliseconds limit) = 0;

  // What is known of a place; of one that nobody asked nothing but its name. untrusted and corruption where
  // others could have written it, or have.
  virtual Result<KnownChannel> channel(const std::string& place) = 0;
  // One after the other, also among processes: `change` sees what is there now.
  virtual Result<void> change(const std::string& place, const Callback<void(KnownChannel&)>& change) = 0;
  // Prefers the builds of a bundle to those of other bundles, for as long as the channel of this place is
  // pinned to the manifest. Adds to the builds that were given for the same manifest before.
  virtual Result<void> prefer(const std::string& place, const Sha256Digest& manifest,
                              const CubinRecords& builds) = 0;
  // All of them, by place.
  virtual Result<std::vector<KnownChannel>> channels() = 0;
};

}  // namespace cubinet
