// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <cubinet/cubin_registry/home.hpp>

#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

namespace cubinet {

// Returns whether the file was left by a dead process. No file takes longer than an hour to write.
bool is_left_over(const FileStatus& status);
// Returns whether a file has the name of a temporary file, or of a temporary database's journal. It
// is being written, or its writer died.
bool is_interrupted_write(const std::filesystem::path& path);
// Returns the temporary files beside the index that are being written or were left: of repairs, the
// limit and the usage log.
Result<std::vector<std::filesystem::path>> temporaries_beside_index(const FileStore& store);

// Removes files, or only counts those that would be removed.
class FileSweep {
 public:
  FileSweep(FileStore& store, bool only_counts) : store_(store), only_counts_(only_counts) {}

  bool only_counts() const { return only_counts_; }
  FileStore& store() const { return store_; }
  // Removes a file. `bytes` is the space that this frees. A folder stays.
  Result<void> remove(const std::filesystem::path& path, std::uint64_t bytes);
  // Logs that a folder in the place of a file is not removed.
  void leave_folder(const std::filesystem::path& path) const;

  SweepReport report;

 private:
  FileStore& store_;
  const bool only_counts_;
};

class LocalImports;

// Adds the images that records name. Returns false if a record cannot be read.
Result<bool> add_images_of_records(const FileStore& store, std::set<Sha256Digest>& named);
// Removes those of `candidates` that neither `named` nor an import names. Removes none if `named`
// is null, an import cannot be read or images are being added. If `only_old` is true, recent images
// stay: without locks, a process may have written an image and not yet its record.
Result<void> remove_unnamed_images(FileSweep& sweep, LocalImports& imports,
                                   const std::set<Sha256Digest>& candidates,
                                   const std::set<Sha256Digest>* named, bool only_old);

// Removes those of `paths` that interrupted writes left.
Result<void> remove_left_overs(FileSweep& sweep, const std::vector<std::filesystem::path>& paths);

}  // namespace cubinet
