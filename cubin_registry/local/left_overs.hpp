// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <cubinet/cubin_registry/home.hpp>

#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

namespace cubinet {

// Nobody writes one file for longer than an hour, so what is older was left by a process that died.
bool is_left_over(const FileStatus& status);
// Returns whether a file has the name of a temporary file, or of a temporary database's journal. It is being
// written, or its writer was ended.
bool is_interrupted_write(const std::filesystem::path& path);
// The temporary files beside the index: of repairs, the limit and the log of uses, being written or ended
// half-way.
Result<std::vector<std::filesystem::path>> temporaries_beside_index(const FileStore& store);

// Removes files, or only counts those that would be removed.
class FileSweep {
 public:
  FileSweep(FileStore& store, bool only_counts) : store_(store), only_counts_(only_counts) {}

  bool only_counts() const { return only_counts_; }
  FileStore& store() const { return store_; }
  // `bytes`: what its removal frees.
  Result<void> remove(const std::filesystem::path& path, std::uint64_t bytes);

  SweepReport report;

 private:
  FileStore& store_;
  const bool only_counts_;
};

class LocalImports;

// Adds the images that records name; false while one of them cannot be read.
Result<bool> add_images_of_records(const FileStore& store, std::set<Sha256Digest>& named);
// Removes those of `candidates` that neither `named` nor an import names. None while `named` is null, an
// import cannot be read or somebody brings images in. `only_old`: where there are no locks, somebody may be
// between an image and its record.
Result<void> remove_unnamed_images(FileSweep& sweep, LocalImports& imports,
                                   const std::set<Sha256Digest>& candidates,
                                   const std::set<Sha256Digest>* named, bool only_old);

// Those of `paths` that interrupted writes left.
Result<void> remove_left_overs(FileSweep& sweep, const std::vector<std::filesystem::path>& paths);

}  // namespace cubinet
