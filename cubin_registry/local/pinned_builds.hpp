// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"
#include "local/record_cache.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cubinet {

// The builds of the bundle to which a channel is pinned. The stored form is little-endian and is
// described in docs/formats/downloads.md:
//
//   <pinned> ::= "CPIN" u16 version, <string> reference, 32 bytes SHA-256 of the manifest,
//                u32 count, { 32 bytes build digest }, 32 bytes SHA-256 of all that precedes
struct PinnedBuilds {
  std::string place;  // the channel's reference, as the user writes it
  Sha256Digest manifest;
  std::vector<Sha256Digest> builds;  // build_digest() of each, ascending
};

Bytes encode_pinned_builds(const PinnedBuilds& pinned);
// Returns corruption for damaged bytes, unsupported for a newer version.
Result<PinnedBuilds> decode_pinned_builds(ByteView bytes);

// The limit of a file: 2,000,000 builds.
inline constexpr std::uint64_t kMaximumPinnedBytes = std::uint64_t{64} << 20;

// Returns the SHA-256 of a build's identity, kind and fingerprint.
Sha256Digest build_digest(const CubinRecord& record);

// The builds that the pins of a home prefer, cached in this process. Thread-safe.
class PreferredBuilds {
 public:
  explicit PreferredBuilds(FileStore& store) : store_(store) {}

  using Builds = std::vector<Sha256Digest>;  // ascending
  // Returns the builds of all channels that are pinned now. Reads the files again if their folder
  // has changed. Logs a warning for each file that cannot be read, and skips it. Returns the same
  // object while nothing changes.
  std::shared_ptr<const Builds> refresh();
  // Returns true if the last refresh() found the build.
  bool contains(const CubinRecord& record) const;

 private:
  std::shared_ptr<const Builds> read(const Listing& listing) const;

  FileStore& store_;
  mutable std::mutex mutex_;  // guards the members below
  FolderStamp stamp_;
  std::shared_ptr<const Builds> builds_ = std::make_shared<const Builds>();
};

}  // namespace cubinet
