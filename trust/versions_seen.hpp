// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/trust/public_key.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The newest version of each channel that each key has signed, stored in a folder of small files.
// Versions are stored per key, so that a version signed by a stolen key is forgotten together with
// that key.
//
// A file is named by channel, key and version, and is written once. The highest version counts,
// even if other processes write at the same time. So no lock is needed, and the version never
// decreases.
class VersionsSeen {
 public:
  VersionsSeen(FileSystem& files, std::filesystem::path folder) : files_(files), folder_(std::move(folder)) {}

  struct Seen {
    std::uint64_t version = 0;
    std::string key_id;
  };
  // Returns the highest version that one of these keys has signed. Returns untrusted if others can
  // write the folder or the file, and corruption if the file does not match its name. Both are
  // errors because the version seen is then unknown.
  Result<std::optional<Seen>> newest(const std::string& channel, const std::vector<PublicKey>& keys) const;
  // Stores the version if it is higher than the stored one.
  Result<void> remember(const std::string& channel, const PublicKey& key, std::uint64_t version) const;

 private:
  // Returns the versions in the names of the files, ascending.
  Result<std::vector<std::uint64_t>> versions(const std::string& prefix) const;
  Result<std::optional<std::uint64_t>> newest_of(const std::string& channel, const PublicKey& key) const;

  FileSystem& files_;
  std::filesystem::path folder_;
};

}  // namespace cubinet
