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

// The newest version of each channel that each key has signed, in a folder of small files: by key, so that a
// version which a stolen key has signed is forgotten with that key.
//
// A file is named by channel, key and version, and written once. The highest one counts, whoever writes
// another at the same time: there is nothing to lock, and nothing goes back.
class VersionsSeen {
 public:
  VersionsSeen(FileSystem& files, std::filesystem::path folder) : files_(files), folder_(std::move(folder)) {}

  struct Seen {
    std::uint64_t version = 0;
    std::string key_id;
  };
  // The highest that one of these keys has signed. untrusted where others can write the folder or the file,
  // corruption where the file is not what its name says: both are errors, for nothing tells what was seen.
  Result<std::optional<Seen>> newest(const std::string& channel, const std::vector<PublicKey>& keys) const;
  // Keeps the version where it is higher than what is there.
  Result<void> remember(const std::string& channel, const PublicKey& key, std::uint64_t version) const;

 private:
  // The versions that the names of files state, ascending.
  Result<std::vector<std::uint64_t>> versions(const std::string& prefix) const;
  Result<std::optional<std::uint64_t>> newest_of(const std::string& channel, const PublicKey& key) const;

  FileSystem& files_;
  std::filesystem::path folder_;
};

}  // namespace cubinet
