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

// Why a published name may be no name of a mirror's file: it could be no part of a path (why_not_within), is
// not the same in a link as on the disk, or is one that the mirror has for itself. Empty where it may.
std::string_view why_not_mirrored(std::string_view name);

// The folder that a mirror is kept in and a static server serves. Every name is relative to it and has passed
// why_not_mirrored. No link below it is followed, whoever put it there. One process at a time writes: the
// others wait for its lock, and find what it has done. Where there are no locks several may write, which
// costs their time alone, and nothing is swept.
class MirrorTree {
 public:
  // Opens the folder, and creates it if it is missing. Waits for the lock. Errors: busy if somebody holds it
  // for longer than `patience`, unavailable if `cancelled` ends the wait.
  static Result<MirrorTree> open(std::shared_ptr<FileSystem> files, std::filesystem::path folder,
                                 const Callback<bool()>& cancelled, const LogSink& log,
                                 std::chrono::milliseconds patience = std::chrono::minutes(10));

  // A folder of it, and those above. untrusted where one of them is a link or no folder. What a process that
  // was killed has left unfinished in it is removed.
  Result<void> make_folder(const std::string& name) const;
  // nullopt where no regular file of at most `limit` bytes bears the name.
  Result<std::optional<Bytes>> read(const std::string& name, std::uint64_t limit) const;
  // Whole and durable when this is done, whoever reads or dies meanwhile.
  Result<void> write(const std::string& name, ByteView content) const;
  Result<void> remove(const std::string& name) const;
  // The page index.html of a folder, a link a line, written where it says something else. Folders end in '/'.
  Result<void> write_index(const std::string& folder, const std::vector<std::string>& names) const;

 private:
  MirrorTree(std::shared_ptr<FileSystem> files, std::filesystem::path folder, std::unique_ptr<FileLock> lock)
      : files_(std::move(files)), folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::shared_ptr<FileSystem> files_;
  std::filesystem::path folder_;
  std::unique_ptr<FileLock> lock_;  // null where there are none
};

}  // namespace cubinet
