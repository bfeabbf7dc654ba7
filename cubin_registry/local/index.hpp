// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cubinet {

// index.sqlite: a copy of the record files' content, so that a list of thousands reads one file,
// and the facts of verified files of published folders. A row may be missing, and a row without its
// file is ignored. Existing rows are right: their names are digests of the record's bytes, and each
// row is compared with its name. Other programs may read the index.
//
// Not thread-safe. Errors: corruption (quarantine it and make a new one), busy, io, and unsupported
// for a newer schema, which must not be changed.
class Index {
 public:
  // as_it_is: writable, but neither created nor replaced.
  enum class Mode { read_write, as_it_is, read_only };
  // Opens the index. In the mode read_write, creates missing tables; in the other modes, returns
  // not_found.
  static Result<std::unique_ptr<Index>> open(const std::filesystem::path& file, Mode mode);
  virtual ~Index() = default;

  virtual Result<std::vector<StoredRecord>> records() = 0;
  // Adds or replaces rows and removes those of the given names, in one transaction.
  virtual Result<void> update(std::span<const StoredRecord> added, std::span<const std::string> gone) = 0;
  virtual Result<std::vector<VerifiedFile>> verified(std::string_view folder) = 0;
  virtual Result<void> remember(std::string_view folder, std::span<const VerifiedFile> files) = 0;
  // Reads every page. Returns an error (corruption) with SQLite's first finding.
  virtual Result<void> check() = 0;

  // Returns whether the file was renamed or removed since it was opened.
  virtual bool moved() const = 0;
  virtual void abandon() = 0;
};

}  // namespace cubinet
