// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/home_access.hpp"

#include <cubinet/cubin_registry/downloads.hpp>

namespace cubinet {

// The downloads of a home as files. Refers to its arguments, which must outlive it.
class LocalDownloads final : public Downloads {
 public:
  LocalDownloads(FileStore& store, const HomeAccess& access) : store_(store), access_(access) {}

  Result<std::optional<Bytes>> find(const Sha256Digest& digest, std::uint64_t limit) override;
  Result<bool> has(const Sha256Digest& digest, std::uint64_t size) override;
  Result<void> keep(const Sha256Digest& digest, ByteView bytes) override;
  Result<void> forget(const Sha256Digest& digest) override;
  std::unique_ptr<BuildLock> lock(const Sha256Digest& what, std::chrono::milliseconds limit) override;
  Result<KnownChannel> channel(const std::string& place) override;
  Result<void> change(const std::string& place, const Callback<void(KnownChannel&)>& change) override;
  Result<void> prefer(const std::string& place, const Sha256Digest& manifest,
                      const CubinRecords& builds) override;
  Result<std::vector<KnownChannel>> channels() override;

 private:
  Result<KnownChannel> read_channel(const std::filesystem::path& file) const;
  // Waits until no other process changes the state of this channel.
  Result<std::unique_ptr<FileLock>> lock_channel(const Sha256Digest& digest_of_place);

  FileStore& store_;
  const HomeAccess& access_;
};

// Returns a lock for building or fetching. A null `lock`, from a home without locks, excludes
// nobody.
std::unique_ptr<BuildLock> hold(std::unique_ptr<FileLock> lock);

}  // namespace cubinet
