// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "imported/file_index.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/cubin_registry/row_table.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cubinet {

// The sources of the images of imported folders.
struct ImportedImages {
  std::shared_ptr<FileSystem> files;
  // Returns the verified bytes of an image that was copied or linked into the home. Thread-safe.
  std::function<Result<std::shared_ptr<const Bytes>>(const Sha256Digest& digest, std::uint64_t size)> kept;
  LogSink log;
};

// A folder of published cubins as a store: its import file, held in memory. Its builds have one
// function each. The import's number is their version, and the digest of their image is their
// fingerprint. Immutable apart from the files; thread-safe.
class ImportedFolder final : public Store, public RowTable {
 public:
  ImportedFolder(ImportedImages images, std::uint64_t number, ArtifactImport import);

  std::uint64_t number() const { return number_; }
  const ArtifactImport& import() const { return *import_; }
  ImportSummary summary() const;  // checks `gone` on each call
  // Returns whether its kernels are available: one used in place needs its folder. Returns an error
  // if that is unknown, because a list must be complete.
  Result<bool> available() const;

  const StoreDescription& description() const override { return description_; }
  Result<CubinRecords> find(const KernelId& kernel) override;
  Result<CubinRecords> find_key(KernelKey key) override;
  Result<CubinRecords> find_function(std::string_view symbol) override;
  Result<CubinRecords> list() override;
  Result<std::shared_ptr<const StoredRows>> rows() override { return builds().rows; }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override;
  // Returns the verified bytes of one of its files.
  Result<std::shared_ptr<const Bytes>> read(const ArtifactFile& file) const;

 private:
  // Made when a build is requested first, because most users of a home need compiled or bundled
  // builds, and an import has thousands.
  struct Builds {
    CubinRecords records;  // of the rows, in their order, then of the plain kernels
    std::shared_ptr<const StoredRows> rows;
    FileIndex files;
    // kernel hash and index of a record, ascending
    std::vector<std::pair<std::uint64_t, std::size_t>> by_kernel;
  };
  const Builds& builds() const;
  Builds make_builds() const;

  ImportedImages images_;
  std::uint64_t number_;
  std::shared_ptr<const ArtifactImport> import_;  // owns the rows
  StoreDescription description_;
  mutable std::once_flag made_;
  mutable Builds builds_;
};

}  // namespace cubinet
