// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_store.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace cubinet {

struct IndexTotals {
  std::uint64_t entries = 0;
  std::uint64_t cubins = 0;
  std::uint64_t cubin_bytes = 0;
  bool write_ahead_log = false;
};

// index.sqlite: what the record files say, arranged for look-up. Rows carry the encoded record, so that a hit
// needs one query and no file; each is checked against its own checksum and the asked-for encoding, so that
// damage to the database can hide an entry but never show a false one.
//
// Not thread-safe. Errors: corruption (to be set aside and made anew), busy, io, and unsupported for a newer
// schema, which must not be touched.
class Index {
 public:
  enum class Mode { read_write, read_only };
  // Calls `add` for every record there is. Used inside the transaction that creates the schema, so that
  // nobody ever sees an index that is new and empty beside records that are old.
  using Add = std::function<Result<void>(const StoredRecord& record)>;
  using Source = std::function<Result<void>(const Add& add)>;
  static Result<std::unique_ptr<Index>> open(const std::filesystem::path& file, Mode mode,
                                             const Source& records);
  virtual ~Index() = default;

  // Newest first.
  virtual Result<std::vector<StoredRecord>> find(const KernelIdentity& identity) = 0;
  virtual Result<std::vector<StoredRecord>> list() = 0;
  virtual Result<IndexTotals> totals() = 0;
  virtual Result<bool> names_image(const Sha256Digest& digest) = 0;

  // Adds or replaces; writes nothing when the row is there already.
  virtual Result<void> put(const StoredRecord& record) = 0;
  virtual Result<bool> erase(const CubinRecord& record) = 0;
  // Replaces all rows in one transaction; returns their number.
  virtual Result<std::uint64_t> replace_all(const Source& records) = 0;
  // Reads every page: corruption with SQLite's first finding.
  virtual Result<void> check() = 0;

  // The file was renamed or removed since it was opened.
  virtual bool moved() const = 0;
  virtual void abandon() = 0;
};

}  // namespace cubinet
