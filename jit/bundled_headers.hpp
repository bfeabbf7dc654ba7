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

// The headers that NVRTC has within it (13.3 and later), as files: a toolkit's and CCCL's of its own release.
// NVRTC's option for them takes a lock at every compilation, waits for it without bound, and trusts what lies
// in the folder. Here they are put into a folder that nobody else knows, once, which is then renamed to the
// one that is searched. Thread-safe; any number of processes may do it at once.
class BundledHeaders {
 public:
  // Those of one compiler go into a folder of their own in `folder`, which its identity names.
  BundledHeaders(std::filesystem::path folder, std::string_view compiler);

  // The folders to search when they are installed.
  std::vector<std::string> folders() const;
  // untrusted where somebody else can have written what lies there, or can take it away.
  Result<bool> installed() const;
  // unavailable where they cannot be written.
  Result<void> install(const NvrtcApi& api) const;

  // Counts what such a folder holds for other compilers than these, and removes it if `remove` is true. A
  // folder is renamed first, so that readers find all of it or nothing. untrusted as installed().
  static Result<UnneededHeaders> sweep(const std::filesystem::path& folder,
                                       const std::vector<std::string>& compilers, bool remove);

 private:
  Result<bool> is_trusted_folder(const std::filesystem::path& path) const;
  Result<void> fill(const NvrtcApi& api, const std::filesystem::path& folder) const;
  // Removes what processes left that were ended while they wrote.
  void remove_left_overs() const;

  std::filesystem::path parent_;
  std::filesystem::path place_;
  std::shared_ptr<FileSystem> files_ = posix_file_system();
};

}  // namespace cubinet
