// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "descriptor.hpp"

#include <cubinet/base/result.hpp>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace cubinet {

// The folders that FileSystem::guard() and FileSystem::enclose() were called with. Thread-safe.
class GuardedFolders {
 public:
  // A file's name and the open folder that the name is relative to.
  struct Place {
    Descriptor folder{-1};
    std::filesystem::path name;

    int at() const { return folder.get() >= 0 ? folder.get() : AT_FDCWD; }
  };

  void guard(const std::filesystem::path& folder);
  Result<void> enclose(const std::filesystem::path& folder);
  // Returns the location at which to change the file `path`. Below a guarded or enclosed folder,
  // the location is relative to the open folder that contains the file, which is entered as guard()
  // or enclose() promises. Elsewhere it is the path itself. Errors: io (ENOENT) if a folder below
  // such a folder is missing, unavailable if the guarded or enclosed folder itself is missing.
  Result<Place> place_of(const std::filesystem::path& path) const;

 private:
  struct Folder {
    std::filesystem::path path;
    std::shared_ptr<const Descriptor> opened;  // of an enclosed folder; nullptr: it is guarded
  };

  std::optional<Folder> folder_of(const std::filesystem::path& path) const;

  mutable std::mutex mutex_;
  std::vector<Folder> folders_;
};

}  // namespace cubinet
