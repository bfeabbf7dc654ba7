// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_store.hpp"
#include "home_access.hpp"
#include "index_keeper.hpp"
#include "local_artifacts.hpp"

#include <cubinet/cubin_registry/registry.hpp>

#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace cubinet {

// The one implementation of Registry: what it answers comes from the index where there is a usable one, and
// from the files otherwise.
class LocalRegistry final : public Registry {
 public:
  LocalRegistry(std::shared_ptr<FileSystem> files, OpenHome home, LogSink log);
  ~LocalRegistry() override;

  const std::filesystem::path& home() const override { return store_.home().root(); }
  Result<std::vector<std::shared_ptr<const CubinRecord>>> find(const KernelIdentity& identity) override;
  Result<std::vector<std::shared_ptr<const CubinRecord>>> find_key(KernelKey key) override;
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override;
  Result<void> publish(const Cubin& cubin) override;
  Result<bool> remove(const CubinRecord& record) override;
  Result<std::uint64_t> remove(const std::vector<std::shared_ptr<const CubinRecord>>& records) override;
  Result<std::unique_ptr<BuildLock>> lock_for_build(const KernelIdentity& identity,
                                                    const BuildFingerprint& fingerprint) override;
  Result<std::vector<std::shared_ptr<const CubinRecord>>> list() override;
  ArtifactStore& artifacts() override { return artifacts_; }
  Result<std::vector<KernelRow>> kernel_rows() override;
  Result<RegistryStats> stats() override;
  Result<VerifyReport> verify() override;
  Result<std::uint64_t> rebuild() override;
  using Registry::sweep;
  Result<SweepReport> sweep(SweepMode mode) override;

 private:
  Result<void> check_process() const { return access_.check_process(); }
  Result<void> check_writable() const { return access_.check_writable(); }
  StoreLock store_lock() { return access_.store_lock(); }

  std::vector<StoredRecord> records_from_files(KernelKey key);
  void add_to_index(const std::vector<StoredRecord>& records);
  // The entry of that name when it is whole and `wanted` does not supersede it.
  std::optional<StoredRecord> entry_that_stays(const std::string& name, const CubinRecord& wanted);
  Result<void> store_image(const Cubin& cubin);
  std::optional<Cubin> read_again_or_set_aside(std::shared_ptr<const CubinRecord> record);
  Result<bool> remove_locked(const CubinRecord& record, StoreLock& lock);
  Result<bool> remove_entry(const CubinRecord& record, StoreLock& lock);
  Result<void> remove_images_unless_named(std::set<Sha256Digest> digests, StoreLock& lock);
  Result<std::vector<StoredRecord>> all_good_records();
  Result<VerifyReport> verify_once();

  FileStore store_;
  HomeAccess access_;
  IndexKeeper index_;
  LocalArtifacts artifacts_;
};

}  // namespace cubinet
