// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_registry/forwarding_files.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace cubinet::test {

// The changes of a folder's files, in order.
struct DiskEvent {
  enum class Kind { create, write, sync, link, rename, remove, append, make_folder, sync_folder };
  Kind kind = Kind::create;
  std::filesystem::path path;
  std::filesystem::path to = {};  // of link and rename
  Bytes bytes = {};               // of write and append, and of a linked file
};

// The operating system's files with a log of the changes. Syncs are only logged, not carried out. A
// link to a file that the log does not know counts as a link to a file on the disk. Thread-safe.
class RecordedFiles final : public ForwardingFiles {
 public:
  Result<std::unique_ptr<WritableFile>> create(const Path& path) override;
  Result<void> link(const Path& from, const Path& to) override;
  Result<void> rename(const Path& from, const Path& to) override;
  Result<void> append(const Path& path, ByteView bytes) override;
  Result<void> sync_directory(const Path& path) override;
  Result<bool> remove(const Path& path) override;
  Result<void> create_directories(const Path& path, Mode mode) override;

  void add(DiskEvent event);
  std::vector<DiskEvent> events() const;
  std::size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::vector<DiskEvent> events_;
};

// Writes below `into` a possible disk state of `root` after a power cut. The log begins with an
// empty folder, and power failed after its first `count` events. A file has the bytes of its last
// sync, or any part of the bytes written since, or zeros in their place. A folder has the names of
// its last sync, and any of the changes since, in any order. A rename within a folder is one
// change. These states follow POSIX, except for new folders. POSIX guarantees no more for those
// either, but here they follow ext4, XFS and btrfs, whose journals contain the path to synced
// files. Opening a home does not sync the folder above it, which may belong to another user.
void restore_after_power_cut(const std::vector<DiskEvent>& events, std::size_t count,
                             const std::filesystem::path& root, const std::filesystem::path& into,
                             std::mt19937_64& random);

}  // namespace cubinet::test
