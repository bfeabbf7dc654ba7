// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace cubinet {

// A folder of published cubins as a store: what its import file says, held in memory. Its builds have one
// function each; the import's number is their version, and the digest of their image stands for what they
// were built from. Immutable but for what lies on the disk. Refers to the home's files, which must outlive
// it.
class ImportedFolder final : public Store {
 public:
  ImportedFolder(FileStore& files, std::uint64_t number, ArtifactImport import);

  std::uint64_t number() const { return number_; }
  const ArtifactImport& import() const { return import_; }
  ImportSummary summary() const;  // `gone` is asked now
  // Whether its kernels can be had: one that is used in place needs its folder. An error where that cannot be
  // told: then nothing may be left out of a list.
  Result<bool> available() const;

  const StoreDescription& description() const override { return description_; }
  Result<CubinRecords> find(const KernelId& kernel) override;
  Result<CubinRecords> find_key(KernelKey key) override;
  Result<CubinRecords> find_function(std::string_view symbol) override;
  Result<CubinRecords> list() override;
  Result<std::shared_ptr<const StoredRows>> rows() override { return rows_; }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override;
  // The bytes of one of its files, verified.
  Result<std::shared_ptr<const Bytes>> read(const ArtifactFile& file) const;

 private:
  std::shared_ptr<const CubinRecord> record_of(const PlainKernel& kernel, const KernelSpec& spec) const;

  FileStore& store_;
  std::uint64_t number_;
  ArtifactImport import_;
  StoreDescription description_;
  std::unordered_map<std::string_view, std::size_t> files_;  // of the import, by the bytes of the digest
  CubinRecords records_;
  std::shared_ptr<const StoredRows> rows_;
  std::unordered_multimap<std::uint64_t, std::size_t> by_kernel_;
};

}  // namespace cubinet
