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

// Whether a folder still holds the names that were listed. Times of files tick (4 ms on ext4, a second on NFS
// and ext3), so only a listing that is younger than the folder's last change by more than any tick can tell.
struct FolderStamp {
  std::int64_t modified_ns = 0;
  std::uint64_t inode = 0;
  bool settled = false;

  // REQUIRES: `status` and `now` were taken before the names were read.
  static FolderStamp of(const FileStatus& status, std::chrono::system_clock::time_point now);
  bool still_is(const FileStatus& status) const {
    return settled && modified_ns == status.modified_ns && inode == status.inode;
  }
};

// The record files of a home as this process has read them. A record's name is the digest of its content, so
// what was read once is right for as long as the name is there; and whether it is there, its folder says: a
// look-up costs one fstat while nothing changes. Thread-safe.
class RecordCache {
 public:
  explicit RecordCache(FileStore& store) : store_(store) {}

  // Every good record of the kernel. Damaged ones are logged and passed over; what could not be read for
  // another reason is an error.
  Result<std::vector<StoredRecord>> of_kernel(const KernelId& kernel);

  // Every good record there is. `read_rows` is asked for the index's rows where files would have to be read:
  // by name, and none where there is no index.
  using Rows = std::map<std::string, StoredRecord, std::less<>>;
  struct All {
    std::vector<StoredRecord> records;
    std::vector<StoredRecord> from_files;  // of those, what neither this process nor the index knew
    std::vector<std::string> gone;         // rows of the index without a file
  };
  Result<All> all(const std::function<Rows()>& read_rows);

 private:
  struct Folder {
    std::mutex mutex;
    FolderStamp stamp;
    std::unique_ptr<const OpenFolder> open;  // the one that was listed last; null where it is not kept open
    std::map<std::string, StoredRecord, std::less<>> records;  // by name; without a record: not read yet
  };

  // At the first look-up: reads all records of a home that holds few. Read one behind the other a record
  // takes a third of what it takes between two calls of the driver. What cannot be read is left to whoever
  // asks.
  void read_few_at_once();
  // REQUIRES: the folder's mutex is held, here and below. `by_path`: sees also that the home was moved, and
  // another lies where it was.
  enum class Look { in_open_folder, by_path };
  Result<void> refresh(std::size_t number, Look look);
  Result<std::vector<StoredRecord>> listed_of(Folder& folder, const KernelId& kernel);
  // False when there is no such record (any more), or it is damaged.
  Result<bool> read(Folder& folder, const std::string& name);

  FileStore& store_;
  std::array<Folder, HomeLayout::kRecordFolders> folders_;
  std::atomic<bool> looked_up_{false};
};

}  // namespace cubinet
