// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/jit/compiler.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Installs the headers that NVRTC 13.3 and later contain: the toolkit's and CCCL's of its release.
// NVRTC's own option for them takes a lock at every compilation, waits for it without a limit, and
// trusts the folder's contents. This class writes them once to a private temporary folder and
// renames it. Thread-safe; several processes may install at once.
class BundledHeaders {
 public:
  // Each compiler has a subfolder of `folder`, named after its identity.
  BundledHeaders(std::filesystem::path folder, std::string_view compiler);

  // Returns the folders to search if the headers are installed.
  std::vector<std::string> folders() const;
  // Returns whether the headers are installed; untrusted if another user can write or remove them.
  Result<bool> installed() const;
  // Writes the headers. Returns unavailable if they cannot be written.
  Result<void> install(const NvrtcApi& api) const;

  // Counts the headers in `folder` of other compilers than these, and removes them if `remove` is
  // true. A subfolder is renamed first, so readers find all of it or nothing. Returns untrusted as
  // installed() does.
  static Result<UnneededHeaders> sweep(const std::filesystem::path& folder,
                                       const std::vector<std::string>& compilers, bool remove);

 private:
  Result<bool> is_trusted_folder(const std::filesystem::path& path) const;
  Result<void> fill(const NvrtcApi& api, const std::filesystem::path& folder) const;
  // Removes temporary folders of processes that were killed while writing.
  void remove_left_overs() const;

  std::filesystem::path parent_;
  std::filesystem::path place_;
  std::shared_ptr<FileSystem> files_ = posix_file_system();
};

}  // namespace cubinet
