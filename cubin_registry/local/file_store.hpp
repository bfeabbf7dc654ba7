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
  std::int64_t published_ns = 0;  // when its file was written
  std::string name;               // of its file, without ".record"
};

// The truth of a home: images and records as files, without the index. Thread-safe as far as FileSystem is;
// what must not interleave is kept apart by StoreLock, which callers hold.
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

  // Bytes whose SHA-256 is `digest`, or not_found, corruption, io. Whose file it is does not matter, nor what
  // other names it has: the digest was compared in memory.
  Result<std::shared_ptr<const Bytes>> read_image(const Sha256Digest& digest, std::uint64_t size) const;
  // Durable when it returns. REQUIRES: sha256(image) == digest.
  Result<void> write_image(const Sha256Digest& digest, ByteView image);
  // Makes the image lie in the home: a hard link to a verified file, or a copy where links are not possible
  // or not asked for. corruption when the file's bytes are not the digest's. Durable when it returns.
  Result<void> bring_image(const std::filesystem::path& from, const Sha256Digest& digest, bool link);

  // A record that is whole and lies under its own name; not_found, corruption, untrusted, unsupported or io
  // otherwise.
  Result<StoredRecord> read_record(const std::string& entry_name) const;
  // Durable when it returns; replaces.
  Result<StoredRecord> write_record(const std::shared_ptr<const CubinRecord>& record);
  // How many of them there were. Durable when it returns.
  Result<std::uint64_t> remove_records(std::span<const std::string> entry_names);
  // The names of all records in one of their folders; what has no business there is left out. not_found where
  // there is no such folder.
  Result<Listing> list_records(std::size_t folder_number) const;
  // Every record file, good or not, in the order of names, until `visit` fails.
  using RecordVisitor =
      std::function<Result<void>(const std::string& entry_name, Result<StoredRecord> record)>;
  Result<void> for_each_record(const RecordVisitor& visit) const;

  // `write` puts the file there, whose folder is made where there is none. Durable as soon as the file is.
  Result<void> put(const std::filesystem::path& file, const Callback<Result<void>()>& write);
  // Moves a file out of the way into quarantine/, with a text file that says why. False when that is not
  // possible.
  bool set_aside(const std::filesystem::path& path, std::string_view reason);

  // Of a folder; one that is missing holds none.
  Result<std::vector<std::string>> list_or_nothing(const std::filesystem::path& folder) const;
  // Returns the files in a folder and in its sub-folders, as paths; none if the folder is missing.
  Result<std::vector<std::filesystem::path>> files_below(const std::filesystem::path& folder) const;

 private:
  Result<std::filesystem::path> new_quarantine_name(const std::filesystem::path& path,
                                                    std::string_view reason);
  Result<bool> try_link(const std::filesystem::path& from, const std::filesystem::path& to,
                        const Sha256Digest& digest);

  std::shared_ptr<FileSystem> files_;
  HomeLayout home_;
  LogSink log_;
  std::unique_ptr<const OpenFolder> cubins_;  // null where it was not there, or is not kept open
};

// A record file with this error is damaged for good and names no image. With any other it may be whole, and
// unreadable just now or by this build.
bool names_nothing(const Error& error);

// Newest first; equal times in the order of fingerprints, so that the answer is the same everywhere.
void sort_newest_first(std::vector<StoredRecord>& records);

}  // namespace cubinet
