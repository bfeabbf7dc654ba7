// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/home_layout.hpp"
#include "store/image_file.hpp"

#include <cubinet/base/callback.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

struct StoredRecord {
  std::shared_ptr<const CubinRecord> record;
  std::int64_t published_ns = 0;  // modification time of its file
  std::string name;               // name of its file, without ".record"
};

// The authoritative files of a home, images and records, without the index. As thread-safe as
// FileSystem. Callers hold the StoreLock to serialise conflicting changes.
class FileStore {
 public:
  FileStore(std::shared_ptr<FileSystem> files, HomeLayout home, LogSink log)
      : files_(std::move(files)),
        home_(std::move(home)),
        log_(std::move(log)),
        cubins_(files_->open_folder(home_.cubins())) {}

  FileSystem& files() const { return *files_; }
  std::shared_ptr<FileSystem> shared_files() const { return files_; }
  const HomeLayout& home() const { return home_; }
  const LogSink& log_sink() const { return log_; }

  // Reads bytes whose SHA-256 is `digest`. Returns not_found, corruption or io. The owner and other
  // names of the file do not matter, because the digest is computed in memory.
  Result<std::shared_ptr<const Bytes>> read_image(const Sha256Digest& digest, std::uint64_t size) const;
  // Writes an image durably. REQUIRES: sha256(image) == digest.
  Result<void> write_image(const Sha256Digest& digest, ByteView image);
  // Adds an image durably: a hard link to a verified file, or a copy if links are impossible or not
  // requested. Returns an error (corruption) if the file's bytes do not match the digest.
  Result<void> bring_image(const std::filesystem::path& from, const Sha256Digest& digest, bool link);

  // Reads an intact record with the right name. Returns not_found, corruption, untrusted,
  // unsupported or io otherwise.
  Result<StoredRecord> read_record(const std::string& entry_name) const;
  // Writes or replaces a record durably.
  Result<StoredRecord> write_record(const std::shared_ptr<const CubinRecord>& record);
  // Removes records durably. Returns how many existed.
  Result<std::uint64_t> remove_records(std::span<const std::string> entry_names);
  // Returns the names of all records in one of their folders. Skips other files. Returns an error
  // (not_found) if there is no such folder.
  Result<Listing> list_records(std::size_t folder_number) const;
  // Visits every record file, damaged ones included, in the order of names, until `visit` fails.
  using RecordVisitor =
      std::function<Result<void>(const std::string& entry_name, Result<StoredRecord> record)>;
  Result<void> for_each_record(const RecordVisitor& visit) const;

  // Calls `write` to create the file, and creates its folder if necessary. The folder is durable as
  // soon as the file is.
  Result<void> put(const std::filesystem::path& file, const Callback<Result<void>()>& write);
  // Moves a file to quarantine/, with a text file that states the reason. Returns false if that is
  // impossible.
  bool set_aside(const std::filesystem::path& path, std::string_view reason);

  // Lists a folder. Empty if it is missing.
  Result<std::vector<std::string>> list_or_nothing(const std::filesystem::path& folder) const;
  // Returns the files in a folder and in its subfolders, as paths. Empty if the folder is missing.
  Result<std::vector<std::filesystem::path>> files_below(const std::filesystem::path& folder) const;

 private:
  Result<std::filesystem::path> new_quarantine_name(const std::filesystem::path& path,
                                                    std::string_view reason);
  Result<bool> try_link(const std::filesystem::path& from, const std::filesystem::path& to,
                        const Sha256Digest& digest);

  std::shared_ptr<FileSystem> files_;
  HomeLayout home_;
  LogSink log_;
  std::unique_ptr<const OpenFolder> cubins_;  // null if it was missing, or is not kept open
};

// Returns whether a record file with this error is permanently damaged and names no image. With any
// other error it may be intact, but unreadable at the moment or by this build.
bool names_nothing(const Error& error);

// Newest first; equal times in the order of fingerprints, so that the answer is the same
// everywhere.
void sort_newest_first(std::vector<StoredRecord>& records);

}  // namespace cubinet
