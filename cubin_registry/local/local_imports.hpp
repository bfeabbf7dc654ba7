// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "imported/imported_folder.hpp"
#include "local/home_access.hpp"
#include "local/index_keeper.hpp"
#include "local/record_cache.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace cubinet {

// The imports of a home, one file each, decoded once and cached. Thread-safe.
class LocalImports final : public Imports {
 public:
  LocalImports(FileStore& store, IndexKeeper& index, const HomeAccess& access)
      : store_(store), index_(index), access_(access) {}

  Result<std::vector<ImportSummary>> list() override;
  Result<std::shared_ptr<const ArtifactImport>> read(std::uint64_t number) override;
  Result<std::uint64_t> publish(const ArtifactImport& import) override;
  Result<bool> remove(std::uint64_t number) override;
  Result<void> bring(const std::string& file, const Sha256Digest& digest, ArtifactPlacement how) override;
  Result<std::vector<VerifiedFile>> verified(const std::string& folder) override;
  Result<void> remember(const std::string& folder, std::span<const VerifiedFile> files) override;

  // Returns the imports in force, pinned last first. For one folder, the highest number is in
  // force; several exist if a publish was interrupted before it removed the replaced one. Damaged
  // ones are logged and skipped.
  using Folders = std::vector<std::shared_ptr<ImportedFolder>>;
  Result<std::shared_ptr<const Folders>> folders();

  // Returns where the images of this home's imports are read from.
  ImportedImages images() const;

  // Every import file, read now and not recalled; by number.
  struct Entry {
    std::uint64_t number = 0;
    Result<ArtifactImport> import;
  };
  Result<std::vector<Entry>> read_all() const;
  // Adds the images that imports use from the home. Returns false if an import cannot be read.
  Result<bool> add_named_images(std::set<Sha256Digest>& named) const;
  // Returns a lock that keeps images from being added. nullopt: images are being added; nullptr:
  // there are no locks.
  std::optional<std::unique_ptr<FileLock>> lock_out_bringers();
  // Returns whether images are being added, without changing anything.
  Result<bool> somebody_brings_images() const;

 private:
  Result<std::vector<std::uint64_t>> numbers() const;
  Result<ArtifactImport> read_file(std::uint64_t number) const;
  // Returns the imports of a folder, ascending by number; the last is in force. Several exist if a
  // publish was interrupted before it removed those that it replaces. Damaged ones are left out,
  // because they hide nothing. A temporarily unreadable one is an error.
  Result<std::vector<Entry>> of_folder(const std::string& folder) const;
  void remove_replaced(const std::vector<Entry>& replaced);
  Result<void> check_images(const ArtifactImport& import) const;
  void end_bringing();

  FileStore& store_;
  IndexKeeper& index_;
  const HomeAccess& access_;
  std::mutex mutex_;
  std::unique_ptr<FileLock> bringing_;  // held from the first bring() to publish()
  std::optional<FolderStamp> stamp_;    // stamp of imports/ when folders_ was made
  std::shared_ptr<const Folders> folders_;
  // The key is the number. Size and time are checked too, because a number is reused after the
  // highest was removed.
  struct Decoded {
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::shared_ptr<ImportedFolder> folder;
  };
  std::map<std::uint64_t, Decoded> decoded_;
};

}  // namespace cubinet
