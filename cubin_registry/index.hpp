// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_store.hpp"
#include "import_table.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace cubinet {

struct IndexTotals {
  std::uint64_t entries = 0;
  std::uint64_t cubins = 0;
  std::uint64_t cubin_bytes = 0;
  bool write_ahead_log = false;
};

// index.sqlite: what the record and import files say, arranged for look-up. Rows carry the encoded record, so
// that a hit needs one query and no file; each is checked against its own checksum and the asked-for
// encoding, so that damage to the database can hide an entry but never show a false one. The kernels' rows
// (kernel_table) are written and erased in the transaction of the entry or import that they belong to.
//
// Not thread-safe. Errors: corruption (to be set aside and made anew), busy, io, and unsupported for a newer
// schema, which must not be touched.
class Index {
 public:
  // as_it_is: to be written, but neither made nor made anew.
  enum class Mode { read_write, as_it_is, read_only };
  // Calls `add` for every record or import there is. Used inside the transaction that creates the schema, so
  // that nobody ever sees an index that is new and empty beside records that are old.
  using AddRecord = std::function<Result<void>(const StoredRecord& record)>;
  using AddImport = std::function<Result<void>(const StoredImport& import)>;
  struct Source {
    std::function<Result<void>(const AddRecord& add)> records;
    std::function<Result<void>(const AddImport& add)> imports;
  };
  // An index that is empty or of an older schema is made anew from `source`; in the other modes it is
  // not_found or unavailable.
  static Result<std::unique_ptr<Index>> open(const std::filesystem::path& file, Mode mode,
                                             const Source& source);
  virtual ~Index() = default;

  // Newest first.
  virtual Result<std::vector<StoredRecord>> find(const KernelIdentity& identity) = 0;
  virtual Result<std::vector<StoredRecord>> list() = 0;
  virtual Result<IndexTotals> totals() = 0;
  virtual Result<std::uint64_t> entry_count() = 0;
  virtual Result<bool> names_image(const Sha256Digest& digest) = 0;
  // Of all entries and imports, with their provenance.
  virtual Result<std::vector<KernelRow>> kernel_rows() = 0;
  virtual Result<std::vector<IndexedImport>> imports() = 0;  // ascending by number
  // Last pinned first; of one import its attention kernels first.
  virtual Result<std::vector<NamedKernel>> find_named(std::string_view function_name) = 0;
  virtual Result<std::vector<ArtifactLocation>> locate(const Sha256Digest& digest) = 0;
  virtual Result<std::vector<VerifiedFile>> verified(std::string_view folder) = 0;

  // Adds or replaces; writes nothing when the row is there already.
  virtual Result<void> put(const StoredRecord& record) = 0;
  virtual Result<bool> erase(const CubinRecord& record) = 0;
  // Adds an import, or replaces it and every other one of its folder.
  virtual Result<void> put_import(const StoredImport& import) = 0;
  virtual Result<void> erase_import(std::uint64_t number) = 0;
  virtual Result<void> remember(std::string_view folder, std::span<const VerifiedFile> files) = 0;
  // Replaces all rows of records and imports in one transaction; returns the number of records.
  virtual Result<std::uint64_t> replace_all(const Source& source) = 0;
  // Reads every page: corruption with SQLite's first finding.
  virtual Result<void> check() = 0;

  // The file was renamed or removed since it was opened.
  virtual bool moved() const = 0;
  virtual void abandon() = 0;
};

}  // namespace cubinet
