// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "home_access.hpp"
#include "import_files.hpp"
#include "index_keeper.hpp"
#include "left_overs.hpp"

#include <cubinet/cubin_registry/artifact_store.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace cubinet {

// The one implementation of ArtifactStore: what it answers comes from the index where there is a usable one
// that was made from the imports there are, and from their files otherwise.
class LocalArtifacts final : public ArtifactStore {
 public:
  LocalArtifacts(FileStore& store, IndexKeeper& index, const HomeAccess& access)
      : store_(store), index_(index), access_(access), imports_(store) {}

  Result<std::vector<ArtifactSummary>> list() override;
  Result<std::uint64_t> publish(const ArtifactImport& import) override;
  Result<bool> remove(std::uint64_t number) override;
  Result<void> bring(const std::filesystem::path& file, const Sha256Digest& digest,
                     ArtifactPlacement how) override;
  Result<std::optional<std::shared_ptr<const Bytes>>> load(const Sha256Digest& digest) override;
  Result<std::vector<PlainKernel>> find_named(std::string_view function_name) override;
  Result<std::vector<VerifiedFile>> verified(const std::filesystem::path& folder) override;
  Result<void> remember(const std::filesystem::path& folder, std::span<const VerifiedFile> files) override;

  // Every attention kernel of the home.
  Result<std::vector<KernelRow>> kernel_rows();
  // Moves import files that are damaged for good aside. REQUIRES: the exclusive StoreLock.
  Result<void> set_damaged_aside();
  // Reads and checks every import and every file that one names.
  Result<void> verify(VerifyReport& report);
  // Removes images that no import names and what interrupted writes left. None is removed while an import
  // cannot be read or somebody brings images in. REQUIRES: the exclusive StoreLock, unless it only counts.
  Result<void> sweep(FileSweep& sweep);

 private:
  // Brings the index up to the import files, where it can be written. False: ask the files.
  bool index_is_current(StoreLock& lock);
  bool bring_up_to_date(StoreLock& lock);
  bool records_are_indexed(StoreLock& lock);
  Result<std::uint64_t> count_record_files() const;
  Result<void> check_images(const ArtifactImport& import) const;
  Result<std::vector<KernelRow>> rows_from_files();
  Result<std::vector<ArtifactLocation>> locations_from_files(const Sha256Digest& digest);
  // Every import in force that can be read; others are logged.
  Result<std::vector<StoredImport>> good_imports() const;
  Result<std::optional<std::set<Sha256Digest>>> named_images() const;
  std::unique_ptr<FileLock> lock_out_bringers();
  Result<void> remove_unnamed_images(const std::vector<Sha256Digest>& candidates, FileSweep& sweep);
  void end_bringing();
  Result<bool> somebody_brings_images() const;
  std::filesystem::path bring_lock_path() const { return store_.home().locks() / "artifacts.lock"; }

  FileStore& store_;
  IndexKeeper& index_;
  const HomeAccess& access_;
  ImportFiles imports_;
  std::mutex mutex_;
  std::unique_ptr<FileLock> bringing_;  // held from the first bring() to publish()
  // States of the files that the index was brought up to as far as they can be read.
  std::optional<std::vector<ImportStamp>> settled_stamps_;
  std::optional<std::uint64_t> settled_records_;
};

}  // namespace cubinet
