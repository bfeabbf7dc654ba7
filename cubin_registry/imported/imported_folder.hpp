// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "imported/file_index.hpp"
#include "local/file_store.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cubinet {

// A folder of published cubins as a store: what its import file says, held in memory. Its builds have one
// function each; the import's number is their version, and the digest of their image stands for what they
// were built from. Immutable but for what lies on the disk; thread-safe. Refers to the home's files, which
// must outlive it.
class ImportedFolder final : public Store {
 public:
  ImportedFolder(FileStore& files, std::uint64_t number, ArtifactImport import);

  std::uint64_t number() const { return number_; }
  const ArtifactImport& import() const { return *import_; }
  ImportSummary summary() const;  // `gone` is asked now
  // Whether its kernels can be had: one that is used in place needs its folder. An error where that cannot be
  // told: then nothing may be left out of a list.
  Result<bool> available() const;

  const StoreDescription& description() const override { return description_; }
  Result<CubinRecords> find(const KernelId& kernel) override;
  Result<CubinRecords> find_key(KernelKey key) override;
  Result<CubinRecords> find_function(std::string_view symbol) override;
  Result<CubinRecords> list() override;
  Result<std::shared_ptr<const StoredRows>> rows() override { return builds().rows; }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override;
  // The bytes of one of its files, verified.
  Result<std::shared_ptr<const Bytes>> read(const ArtifactFile& file) const;

 private:
  // Made when a build is asked for: most that look into a home want what was compiled or bundled, and an
  // import has thousands.
  struct Builds {
    CubinRecords records;  // of the rows, in their order, then of the plain kernels
    std::shared_ptr<const StoredRows> rows;
    FileIndex files;
    std::vector<std::pair<std::uint64_t, std::size_t>> by_kernel;  // hash and number of a record, ascending
  };
  const Builds& builds() const;
  Builds make_builds() const;

  FileStore& store_;
  std::uint64_t number_;
  std::shared_ptr<const ArtifactImport> import_;  // each row lies here and nowhere else
  StoreDescription description_;
  mutable std::once_flag made_;
  mutable Builds builds_;
};

}  // namespace cubinet
