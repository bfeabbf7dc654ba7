// SPDX-License-Identifier: Apache-2.0
#include "store/record_row.hpp"
#include "store/same_build.hpp"

#include <cubinet/base/fork_guard.hpp>
#include <cubinet/cubin_registry/record_lists.hpp>
#include <cubinet/cubin_registry/row_table.hpp>
#include <cubinet/cubin_registry/store.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tuple>

namespace cubinet {
namespace {

class NoLock final : public BuildLock {};

// Returns the order of lists.
auto place_in_list(const CubinRecord& record, const KernelSpec& spec) {
  return std::tuple<KernelMaker, const std::string&, KernelKey, ImageKind, const BuildFingerprint&>(
      spec.maker, spec.name, record.identity.key(), record.kind, record.fingerprint);
}

class MemoryStore final : public WritableStore, public RowTable {
 public:
  const StoreDescription& description() const override { return description_; }

  Result<CubinRecords> find(const KernelId& kernel) override {
    return select([&](const CubinRecord& record) { return record.identity.is_of(kernel); });
  }
  Result<CubinRecords> find_key(KernelKey key) override {
    return select([&](const CubinRecord& record) { return record.identity.key() == key; });
  }
  Result<CubinRecords> find_function(std::string_view name) override {
    return select([&](const CubinRecord& record) { return answers_to(record, name); });
  }
  Result<CubinRecords> list() override {
    return select([](const CubinRecord&) { return true; });
  }
  Result<std::shared_ptr<const StoredRows>> rows() override;
  std::uint64_t changes() const override { return changes_.load(std::memory_order_acquire); }
  Result<TuningTable> tuning() override {
    CUBINET_TRY(check_process());
    const std::lock_guard lock(mutex_);
    return tuning_;
  }
  Result<void> add_tuning(const TuningTable& table) override {
    CUBINET_TRY(check_process());
    const std::lock_guard lock(mutex_);
    CUBINET_TRY(table.check());
    tuning_.merge(table);
    changes_.fetch_add(1, std::memory_order_release);
    return {};
  }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override;
  Result<void> publish(const Cubin& cubin) override;
  Result<std::uint64_t> remove(const CubinRecords& records) override;
  // Only this process builds for this store, and requests for one kernel are joined before.
  Result<std::unique_ptr<BuildLock>> lock_for_build(const KernelIdentity&, const BuildFingerprint&) override {
    CUBINET_TRY(check_process());
    return std::unique_ptr<BuildLock>(std::make_unique<NoLock>());
  }

 private:
  struct Entry {
    KernelSpec spec;  // decoded from the record's identity
    Cubin cubin;
  };

  Result<void> check_process() const;
  template <class Wanted>
  Result<CubinRecords> select(const Wanted& wanted);
  std::vector<Entry>::iterator position_of(const CubinRecord& record);

  const StoreDescription description_{.kind = "memory", .source = KernelSource::memory, .writable = true};
  const ForkGuard fork_guard_;
  std::mutex mutex_;
  std::vector<Entry> entries_;              // in the order of list(); a process has few of them
  std::shared_ptr<const StoredRows> rows_;  // null: must be made again
  TuningTable tuning_;
  std::atomic<std::uint64_t> changes_{0};
};

Result<void> MemoryStore::check_process() const {
  if (fork_guard_.in_original_process()) return {};
  return Error{ErrorCode::unavailable,
               "kernels kept in memory belong to the process that this one was forked from",
               "create a Runtime of its own in the child"};
}

template <class Wanted>
Result<CubinRecords> MemoryStore::select(const Wanted& wanted) {
  CUBINET_TRY(check_process());
  CubinRecords records;
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (wanted(*entry.cubin.record)) records.push_back(entry.cubin.record);
  }
  return records;
}

std::vector<MemoryStore::Entry>::iterator MemoryStore::position_of(const CubinRecord& record) {
  return std::find_if(entries_.begin(), entries_.end(),
                      [&](const Entry& entry) { return is_same_build(*entry.cubin.record, record); });
}

Result<std::shared_ptr<const StoredRows>> MemoryStore::rows() {
  CUBINET_TRY(check_process());
  const std::lock_guard lock(mutex_);
  if (rows_ == nullptr) {
    auto rows = std::make_shared<StoredRows>();
    for (const Entry& entry : entries_) {
      if (auto row = row_of(*entry.cubin.record)) rows->push_back({std::move(row), entry.cubin.record});
    }
    rows_ = std::move(rows);
  }
  return rows_;
}

Result<std::optional<Cubin>> MemoryStore::load(std::shared_ptr<const CubinRecord> record) {
  CUBINET_TRY(check_process());
  const std::lock_guard lock(mutex_);
  const auto position = position_of(*record);
  if (position == entries_.end() || position->cubin.record->digest != record->digest) {
    return std::optional<Cubin>();
  }
  return std::optional(position->cubin);
}

Result<void> MemoryStore::publish(const Cubin& cubin) {
  CUBINET_TRY(check_process());
  const CubinRecord& record = *cubin.record;
  if (record.size != cubin.image->size() || record.digest != sha256(*cubin.image)) {
    return Error{ErrorCode::invalid_argument,
                 record.identity.key().to_string() + ": the record is not that of the image"};
  }
  CUBINET_TRY_ASSIGN(KernelSpec spec, decode_kernel(record.identity.kernel_encoding()));
  Entry entry{std::move(spec), cubin};
  const std::lock_guard lock(mutex_);
  if (const auto there = position_of(record); there != entries_.end()) {
    if (!supersedes(record, *there->cubin.record)) return {};
    *there = std::move(entry);
  } else {
    const auto behind =
        std::upper_bound(entries_.begin(), entries_.end(), entry, [](const Entry& a, const Entry& b) {
          return place_in_list(*a.cubin.record, a.spec) < place_in_list(*b.cubin.record, b.spec);
        });
    entries_.insert(behind, std::move(entry));
  }
  rows_.reset();
  changes_.fetch_add(1, std::memory_order_release);
  return {};
}

Result<std::uint64_t> MemoryStore::remove(const CubinRecords& records) {
  CUBINET_TRY(check_process());
  std::uint64_t removed = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& record : records) {
    const auto position = position_of(*record);
    if (position == entries_.end()) continue;
    entries_.erase(position);
    ++removed;
  }
  if (removed > 0) {
    rows_.reset();
    changes_.fetch_add(1, std::memory_order_release);
  }
  return removed;
}

}  // namespace

std::shared_ptr<WritableStore> make_memory_store() {
  return std::make_shared<MemoryStore>();
}

}  // namespace cubinet
