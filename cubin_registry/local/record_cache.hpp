// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A stamp that shows whether a folder still has the listed names. File times have a resolution of 4
// ms (ext4) to a second (NFS, ext3), so a listing counts only if it is later than the folder's last
// change by more than that.
struct FolderStamp {
  std::int64_t modified_ns = 0;
  std::uint64_t inode = 0;
  bool settled = false;

  // Returns the stamp. REQUIRES: `status` and `now` were taken before the names were read.
  static FolderStamp of(const FileStatus& status, std::chrono::system_clock::time_point now);
  bool still_is(const FileStatus& status) const {
    return settled && modified_ns == status.modified_ns && inode == status.inode;
  }
};

// The record files of a home that this process has read. A record's name is the digest of its
// content, so a cached record is valid while its name exists, which the folder's stamp shows. A
// lookup costs one fstat while nothing changes. Thread-safe.
class RecordCache {
 public:
  explicit RecordCache(FileStore& store) : store_(store) {}

  // Returns every intact record of the kernel. Damaged ones are logged and skipped; other read
  // failures are errors.
  Result<std::vector<StoredRecord>> of_kernel(const KernelId& kernel);
  // Returns the errors of the records that of_kernel() skips.
  std::vector<Error> unreadable(const KernelId& kernel);

  // Returns every intact record. If files would have to be read, calls `read_rows` for the rows of
  // the index, by name; it returns none if there is no index.
  using Rows = std::map<std::string, StoredRecord, std::less<>>;
  struct All {
    std::vector<StoredRecord> records;
    std::vector<StoredRecord> from_files;  // records that neither this process nor the index had
    std::vector<std::string> gone;         // rows of the index without a file
  };
  Result<All> all(const std::function<Rows()>& read_rows);

 private:
  struct Folder {
    std::mutex mutex;
    FolderStamp stamp;
    // the folder that was listed last; null if it is not kept open
    std::unique_ptr<const OpenFolder> open;
    // by name; without a record: not read yet
    std::map<std::string, StoredRecord, std::less<>> records;
  };

  // Reads all records at the first lookup if the home has few. Read in sequence, a record takes a
  // third of the time that it takes between two calls of the driver. Read failures are left to
  // later lookups.
  void read_few_at_once();
  // REQUIRES, here and below: the folder's mutex is held. `by_path` also detects that the home was
  // moved and replaced by another.
  enum class Look { in_open_folder, by_path };
  Result<void> refresh(std::size_t number, Look look);
  Result<std::vector<StoredRecord>> listed_of(Folder& folder, const KernelId& kernel);
  // Returns false if the record does not exist any more, or is damaged.
  Result<bool> read(Folder& folder, const std::string& name);

  FileStore& store_;
  std::array<Folder, HomeLayout::kRecordFolders> folders_;
  std::atomic<bool> looked_up_{false};
};

}  // namespace cubinet
