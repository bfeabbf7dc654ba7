// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "descriptor.hpp"

#include <cubinet/base/result.hpp>

#include <filesystem>
#include <mutex>
#include <vector>

namespace cubinet {

// The folders that FileSystem::guard() was called with. Thread-safe.
class GuardedFolders {
 public:
  // A file's name and the open folder that the name is relative to.
  struct Place {
    Descriptor folder{-1};
    std::filesystem::path name;

    int at() const { return folder.get() >= 0 ? folder.get() : AT_FDCWD; }
  };

  void add(const std::filesystem::path& folder);
  // Returns the location at which to change the file `path`. Below a guarded folder, the location
  // is relative to the open folder that contains the file, which is entered as guard() promises.
  // Elsewhere it is the path itself. Errors: io (ENOENT) if a folder below a guarded one is
  // missing, unavailable if the guarded folder itself is missing.
  Result<Place> place_of(const std::filesystem::path& path) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace cubinet
