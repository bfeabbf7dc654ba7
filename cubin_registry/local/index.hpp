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

// index.sqlite: the content of record files, so that a list of thousands costs one file and not thousands,
// and a memory of files of published folders that were verified. It promises nothing: a row may be missing,
// and one without its file counts for nothing. What it says of a name is right all the same: a name is the
// digest of the record's bytes, and each row is compared with it. Other programs may read it.
//
// Not thread-safe. Errors: corruption (to be set aside and made anew), busy, io, and unsupported for a newer
// schema, which must not be touched.
class Index {
 public:
  // as_it_is: to be written, but neither made nor made anew.
  enum class Mode { read_write, as_it_is, read_only };
  // Makes the tables of a file that has none; in the other modes it is not_found.
  static Result<std::unique_ptr<Index>> open(const std::filesystem::path& file, Mode mode);
  virtual ~Index() = default;

  virtual Result<std::vector<StoredRecord>> records() = 0;
  // In one transaction: adds or replaces rows, and erases those of these names.
  virtual Result<void> update(std::span<const StoredRecord> added, std::span<const std::string> gone) = 0;
  virtual Result<std::vector<VerifiedFile>> verified(std::string_view folder) = 0;
  virtual Result<void> remember(std::string_view folder, std::span<const VerifiedFile> files) = 0;
  // Reads every page: corruption with SQLite's first finding.
  virtual Result<void> check() = 0;

  // The file was renamed or removed since it was opened.
  virtual bool moved() const = 0;
  virtual void abandon() = 0;
};

}  // namespace cubinet
