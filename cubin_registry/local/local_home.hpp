// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"
#include "local/home_access.hpp"
#include "local/index_keeper.hpp"
#include "local/local_downloads.hpp"
#include "local/local_imports.hpp"
#include "local/local_journal.hpp"
#include "local/pinned_builds.hpp"
#include "local/record_cache.hpp"
#include "local/retention.hpp"
#include "local/use_log.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace cubinet {

// The only implementation of Home. The record files are authoritative, and the index saves reading
// many of them.
class LocalHome final : public Home {
 public:
  LocalHome(std::shared_ptr<FileSystem> files, OpenHome home, LogSink log);
  ~LocalHome() override;

  const StoreDescription& description() const override { return description_; }
  std::string place_of(const CubinRecord& record) const override;
  bool prefers(const CubinRecord& record) const override { return preferred_.contains(record); }
  Result<CubinRecords> find(const KernelId& kernel) override;
  std::vector<Error> unreadable(const KernelId& kernel) override;
  Result<CubinRecords> find_key(KernelKey key) override;
  Result<CubinRecords> find_function(std::string_view symbol) override;
  Result<CubinRecords> list() override;
  Result<std::shared_ptr<const StoredRows>> rows() override;
  std::uint64_t changes() const override { return access_.lock_holders(); }
  Result<TuningTable> tuning() override;
  Result<TuningTable> checked_tuning() override;
  Result<void> add_tuning(const TuningTable& table) override;
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override;
  Result<void> publish(const Cubin& cubin) override;
  Result<std::uint64_t> remove(const CubinRecords& records) override;
  Result<std::unique_ptr<BuildLock>> lock_for_build(const KernelIdentity& identity,
                                                    const BuildFingerprint& fingerprint) override;
  Imports& imports() override { return imports_; }
  Downloads& downloads() override { return downloads_; }
  HomeJournal& journal() override { return journal_; }
  Result<HomeStats> stats() override;
  Result<VerifyReport> verify() override;
  Result<VerifyReport> repair() override;
  Result<SweepReport> sweep(const SweepOptions& options) override;
  Result<void> pin(KernelKey key) override;
  Result<bool> unpin(KernelKey key) override;
  Result<void> set_limit(const std::optional<SizeLimit>& limit) override;

 private:
  Result<void> check_process() const { return access_.check_process(); }
  Result<void> check_writable() const { return access_.check_writable(); }
  StoreLock store_lock() { return access_.store_lock(); }

  // Returns every build that was compiled here or came from a bundle, newest first. Updates the
  // index.
  Result<CubinRecords> own_records();
  template <class Ask>
  Result<CubinRecords> with_imports(CubinRecords records, Ask&& ask);
  Result<CubinRecords> builds_of(const KernelId& kernel);
  Result<std::optional<Cubin>> verified_build(std::shared_ptr<const CubinRecord> record);
  Result<std::optional<Cubin>> load_imported(std::shared_ptr<const CubinRecord> record);
  Result<void> store_image(const Cubin& cubin);
  std::optional<Cubin> read_again_or_set_aside(std::shared_ptr<const CubinRecord> record);
  // Returns the siblings that would come into force if `records` were removed.
  Result<CubinRecords> hidden_by(const CubinRecords& records);
  Result<std::uint64_t> remove_locked(const CubinRecords& records, StoreLock& lock);
  Result<std::uint64_t> remove_with_hidden(const CubinRecords& records, StoreLock& lock);
  Result<VerifyReport> verify_once();
  Result<void> evict_for(const SweepOptions& options, std::vector<StoredRecord> records, StoreLock& lock,
                         SweepReport& report);
  void forget_uses_of_what_is_gone();
  void keep_limit(std::uint64_t added);
  // Returns nullopt, with a log line, if the limit cannot be read.
  std::optional<SizeLimit> limit_or_none() const;

  FileStore store_;
  HomeAccess access_;
  UseLog uses_;
  LimitWatch limit_watch_;
  IndexKeeper index_;
  RecordCache records_;
  mutable LocalImports imports_;  // caches what it has read
  LocalDownloads downloads_;
  LocalJournal journal_;
  PreferredBuilds preferred_;
  StoreDescription description_;
  std::mutex rows_mutex_;
  // The last result of rows(), and its input.
  std::shared_ptr<const StoredRows> rows_;
  CubinRecords rows_records_;
  LocalImports::Folders rows_folders_;
  std::shared_ptr<const PreferredBuilds::Builds> rows_preferred_;
};

}  // namespace cubinet
