// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/log.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Returns the reason why a published name cannot be used in a mirror: it cannot be part of a path
// (why_not_within), differs between a link and the disk, or is reserved for the mirror. Empty: it
// can.
std::string_view why_not_mirrored(std::string_view name);

// The folder of a mirror, which a static server serves. Every name is relative to it and has passed
// why_not_mirrored. The folder is opened once, and no change follows a link below it, even one that
// another user substitutes meanwhile. One process at a time writes; others wait for its
// lock and then find its files. On file systems without locks, several processes may write, which
// only duplicates work, and unfinished files are not removed.
class MirrorTree {
 public:
  // Opens the folder, creates it if it is missing and waits for the lock. Returns busy if another
  // process holds it for longer than `patience`, unavailable if `cancelled` ends the wait.
  static Result<MirrorTree> open(std::shared_ptr<FileSystem> files, std::filesystem::path folder,
                                 const Callback<bool()>& cancelled, const LogSink& log,
                                 std::chrono::milliseconds patience = std::chrono::minutes(10));

  // Creates a subfolder and its parents. Removes unfinished files of killed processes from it.
  // Returns an error (untrusted) if a part of the path is a link or not a folder.
  Result<void> make_folder(const std::string& name) const;
  // Returns nullopt unless a regular file of at most `limit` bytes has the name.
  Result<std::optional<Bytes>> read(const std::string& name, std::uint64_t limit) const;
  // Writes the file atomically and durably.
  Result<void> write(const std::string& name, ByteView content) const;
  Result<void> remove(const std::string& name) const;
  // Writes the page index.html of a folder, one link per line, if its content changes. Folders end
  // in '/'.
  Result<void> write_index(const std::string& folder, const std::vector<std::string>& names) const;

 private:
  MirrorTree(std::shared_ptr<FileSystem> files, std::filesystem::path folder, std::unique_ptr<FileLock> lock)
      : files_(std::move(files)), folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::shared_ptr<FileSystem> files_;
  std::filesystem::path folder_;
  std::unique_ptr<FileLock> lock_;  // null if the file system has no locks
};

}  // namespace cubinet
