// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "home.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

struct StoredRecord {
  std::shared_ptr<const CubinRecord> record;
  std::int64_t published_ns = 0;  // when its file was written
};

// The truth of a home: images and records as files, without the index. Thread-safe as far as FileSystem is;
// what must not interleave is kept apart by StoreLock, which callers hold.
class FileStore {
 public:
  FileStore(std::shared_ptr<FileSystem> files, Home home, LogSink log)
      : files_(std::move(files)), home_(std::move(home)), log_(std::move(log)) {}

  FileSystem& files() const { return *files_; }
  const Home& home() const { return home_; }
  const LogSink& log_sink() const { return log_; }

  // Bytes whose SHA-256 is `digest`, or not_found, corruption, untrusted, io.
  Result<std::shared_ptr<const Bytes>> read_image(const Sha256Digest& digest, std::uint64_t size) const;
  // Durable when it returns. REQUIRES: sha256(image) == digest.
  Result<void> write_image(const Sha256Digest& digest, ByteView image);

  // A record that is whole and lies under its own name; not_found, corruption, untrusted, unsupported or io
  // otherwise.
  Result<StoredRecord> read_record(const std::string& entry_name) const;
  // Durable when it returns; replaces.
  Result<StoredRecord> write_record(const std::shared_ptr<const CubinRecord>& record);
  // All good records of a key, newest first. Damaged ones are logged and passed over.
  Result<std::vector<StoredRecord>> records_of(KernelKey key) const;
  // Every record file, good or not, in the order of names, until `visit` fails.
  using RecordVisitor =
      std::function<Result<void>(const std::string& entry_name, Result<StoredRecord> record)>;
  Result<void> for_each_record(const RecordVisitor& visit) const;

  // Moves a file out of the way into quarantine/, with a text file that says why. False when that is not
  // possible.
  bool set_aside(const std::filesystem::path& path, std::string_view reason);

  // Files of a two-level folder, as paths; a folder that is missing holds none.
  Result<std::vector<std::filesystem::path>> files_below(const std::filesystem::path& folder) const;

 private:
  Result<void> make_folder_for(const std::filesystem::path& file);

  std::shared_ptr<FileSystem> files_;
  Home home_;
  LogSink log_;
};

// A record file with this error is damaged for good and names no image. With any other it may be whole, and
// unreadable just now or by this build.
bool names_nothing(const Error& error);

// Newest first; equal times in the order of fingerprints, so that the answer is the same everywhere.
void sort_newest_first(std::vector<StoredRecord>& records);

}  // namespace cubinet
