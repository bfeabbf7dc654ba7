// SPDX-License-Identifier: Apache-2.0
// Removal of leftover files, of content that nothing names, and, for a limit, of the least recently
// used.
#include "local/eviction.hpp"
#include "local/left_overs.hpp"
#include "local/local_home.hpp"
#include "local/retention.hpp"
#include "local/siblings.hpp"
#include "local/survey.hpp"

#include <cubinet/base/file_lock.hpp>

#include <chrono>
#include <map>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// Reading a download is not recorded. One that is still needed after this time is fetched again.
constexpr std::int64_t kSecondsOfDownloads = std::int64_t{30} * 86'400;

std::int64_t now_in_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

// Removes lock files. Only the holder of a lock removes its file, and FileSystem::lock checks
// afterwards that the locked file still has the name.
Result<void> remove_idle_locks(FileStore& store, const fs::path& keep) {
  CUBINET_TRY_ASSIGN(const auto paths, store.files_below(store.home().locks()));
  for (const fs::path& path : paths) {
    if (path == keep || !store.home().is_lock(path)) continue;
    CUBINET_TRY_ASSIGN(const auto status, store.files().status(path));
    if (!status || !is_left_over(*status)) continue;
    const auto lock = store.files().lock(path, FileSystem::Sharing::exclusive);
    if (lock && *lock) CUBINET_TRY(store.files().remove(path));
  }
  return {};
}

// Removes records whose image is missing, and superseded records of a build. Keeps a record with an
// unusable image before the one in force, because only loading quarantines damage. Returns the
// remaining records.
Result<std::vector<StoredRecord>> sweep_records(FileSweep& sweep, Survey& survey) {
  FileStore& store = sweep.store();
  std::vector<StoredRecord> all;
  for (const auto& [name, stored] : survey.records)
    all.push_back(stored);
  survey.named.clear();
  std::vector<StoredRecord> kept;
  std::vector<std::string> gone;
  CUBINET_TRY(for_each_build(all, [&](Siblings siblings) -> Result<void> {
    const std::size_t in_force = place_in_force(store, siblings);
    for (std::size_t place = 0; place < siblings.size(); ++place) {
      const Sha256Digest& digest = siblings[place].record->digest;
      CUBINET_TRY_ASSIGN(const auto image, store.files().status(store.home().cubin(digest)));
      if (!image) ++sweep.report.entries;
      if (image && place <= in_force) {
        survey.named.insert(digest);
        kept.push_back(siblings[place]);
      } else {
        gone.push_back(siblings[place].name);
      }
    }
    return {};
  }));
  if (!sweep.only_counts()) CUBINET_TRY(store.remove_records(gone));
  return kept;
}

// Removes downloads that are old. A server sends them again.
Result<void> sweep_downloads(FileSweep& sweep) {
  FileStore& store = sweep.store();
  CUBINET_TRY_ASSIGN(const auto paths, store.files_below(store.home().downloads()));
  for (const fs::path& path : paths) {
    if (!store.home().is_download(path)) continue;
    CUBINET_TRY_ASSIGN(const auto status, store.files().status(path));
    if (!status) continue;
    if (status->type == FileStatus::Type::directory) {
      sweep.leave_folder(path);
      continue;
    }
    if (now_in_seconds() - status->modified_ns / kNsPerSecond > kSecondsOfDownloads)
      CUBINET_TRY(sweep.remove(path, status->size));
  }
  return {};
}

// The candidates of an eviction and the bytes that count towards the limit.
class EvictionCandidates {
 public:
  EvictionCandidates(std::map<Sha256Digest, std::int64_t> last_used, std::set<KernelKey> pins)
      : last_used_(std::move(last_used)), pins_(std::move(pins)), now_(now_in_seconds()) {}

  void add(const StoredRecord& stored, bool of_import) {
    const CubinRecord& record = *stored.record;
    Evictable& image = images_[record.digest];
    image.records.push_back(stored.record);
    image.bytes = of_import ? 0 : record.size;
    saw(image, stored.published_ns / kNsPerSecond);
    saw_use(image, record.digest);
    image.pinned = image.pinned || pins_.count(record.identity.key()) != 0;
  }

  // `files` are the files that nothing else uses, by digest. Those that records name do not count
  // for the import.
  Result<void> add_import(ImportedFolder& folder, std::int64_t published,
                          const std::map<Sha256Digest, std::uint64_t>& files) {
    Evictable import;
    import.import = folder.number();
    saw(import, published);
    for (const auto& [digest, bytes] : files) {
      import.bytes += bytes;
      saw_use(import, digest);
    }
    for (const KernelKey pin : pins_) {
      CUBINET_TRY_ASSIGN(const auto pinned, folder.find_key(pin));
      import.pinned = import.pinned || !pinned.empty();
    }
    imports_.push_back(std::move(import));
    return {};
  }

  EvictionPlan plan(const SizeLimit& limit) && {
    std::vector<Evictable> all = std::move(imports_);
    for (auto& [digest, image] : images_)
      all.push_back(std::move(image));
    return plan_eviction(std::move(all), limit, now_);
  }

 private:
  void saw(Evictable& evictable, std::int64_t time) const {
    if (is_believed(time, now_)) evictable.since = std::max(evictable.since, time);
  }
  void saw_use(Evictable& evictable, const Sha256Digest& image) const {
    if (const auto use = last_used_.find(image); use != last_used_.end()) saw(evictable, use->second);
  }

  std::map<Sha256Digest, std::int64_t> last_used_;
  std::set<KernelKey> pins_;
  std::int64_t now_;
  std::map<Sha256Digest, Evictable> images_;
  std::vector<Evictable> imports_;
};

}  // namespace

// REQUIRES: the exclusive lock, unless it is a dry run.
Result<void> LocalHome::evict_for(const SweepOptions& options, std::vector<StoredRecord> records,
                                  StoreLock& lock, SweepReport& report) {
  const std::optional<SizeLimit> limit = options.limit ? options.limit : limit_or_none();
  CUBINET_TRY_ASSIGN(const bool growing, imports_.somebody_brings_images());
  if (limit && growing) {
    log(store_.log_sink(), LogLevel::warning, "nothing is evicted while a folder is being imported");
    return {};
  }
  auto uses = uses_.read();
  if (limit && !uses) {
    log(store_.log_sink(), LogLevel::warning,
        "nothing is evicted while the log of uses cannot be read: " + uses.error().to_line());
    return {};
  }
  CUBINET_TRY_ASSIGN(auto pins, read_pins(store_));
  EvictionCandidates candidates(uses ? std::move(uses->last) : std::map<Sha256Digest, std::int64_t>(),
                                std::move(pins));
  std::set<Sha256Digest> by_imports;
  CUBINET_TRY_ASSIGN(const bool complete, imports_.add_named_images(by_imports));
  if (limit && !complete) {
    log(store_.log_sink(), LogLevel::warning,
        "nothing is evicted while there are imports that cannot be read");
    return {};
  }
  for (const StoredRecord& stored : records)
    candidates.add(stored, by_imports.count(stored.record->digest) != 0);
  if (options.imports) {
    CUBINET_TRY_ASSIGN(const auto folders, imports_.folders());
    for (const auto& folder : *folders) {
      if (folder->import().placement == ArtifactPlacement::in_place) continue;
      CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().import(folder->number())));
      std::map<Sha256Digest, std::uint64_t> files;
      for (const ArtifactFile& file : folder->import().files) {
        CUBINET_TRY_ASSIGN(const auto image, store_.files().status(store_.home().cubin(file.digest)));
        // The bytes of a file with another name are not freed.
        files.emplace(file.digest, image && image->links <= 1 ? file.size : 0);
      }
      CUBINET_TRY(candidates.add_import(*folder, status ? status->modified_ns / kNsPerSecond : 0, files));
    }
  }
  EvictionPlan plan = std::move(candidates).plan(limit.value_or(SizeLimit{UINT64_MAX, UINT64_MAX}));
  report.kept_bytes = plan.kept_bytes;
  report.pinned_bytes = plan.pinned_bytes;
  report.recent_bytes = plan.recent_bytes;
  for (Evictable& each : plan.out) {
    report.evicted_bytes += each.bytes;
    if (each.import != 0) report.evicted_imports.push_back(each.import);
    report.evicted.insert(report.evicted.end(), each.records.begin(), each.records.end());
  }
  if (options.dry_run || report.evicted.empty()) return {};
  CUBINET_TRY(remove_with_hidden(report.evicted, lock));
  return {};
}

// A use that cannot be recorded meanwhile is dropped, which is acceptable if the file becomes
// shorter.
void LocalHome::forget_uses_of_what_is_gone() {
  uses_.flush();
  std::set<Sha256Digest> there;
  const auto listed = list();
  if (!listed) return;
  for (const auto& record : *listed)
    there.insert(record->digest);
  if (auto compacted = uses_.compact(&there); !compacted)
    log(store_.log_sink(), LogLevel::debug, "the log of uses stays as it is: " + compacted.error().to_line());
}

std::optional<SizeLimit> LocalHome::limit_or_none() const {
  auto limit = read_limit(store_);
  if (limit) return *limit;
  log(store_.log_sink(), LogLevel::warning, "the home's limit is not kept: " + limit.error().to_line());
  return std::nullopt;
}

// Must not make a publish fail, or wait longer than a moment.
void LocalHome::keep_limit(std::uint64_t added) {
  const std::optional<SizeLimit> limit = limit_or_none();
  if (!limit || !limit_watch_.is_due(added)) return;
  const auto swept = [&]() -> Result<std::uint64_t> {
    CUBINET_TRY_ASSIGN(const auto there, records_.all([] { return RecordCache::Rows(); }));
    std::map<Sha256Digest, std::uint64_t> images;
    for (const StoredRecord& stored : there.records)
      images.emplace(stored.record->digest, stored.record->size);
    std::uint64_t bytes = 0;
    for (const auto& [digest, size] : images)
      bytes += size;
    if (bytes <= limit->high) return bytes;
    const auto alone = store_.files().lock(store_.home().sweep_lock(), FileSystem::Sharing::exclusive);
    if (!alone && !knows_no_locks(alone.error())) return alone.error();
    if (alone && *alone == nullptr) return bytes;  // another process sweeps
    StoreLock lock = store_lock();
    CUBINET_TRY(lock.exclude(kShortWait));
    CUBINET_TRY_ASSIGN(auto all, records_.all([] { return RecordCache::Rows(); }));
    SweepReport report;
    CUBINET_TRY(evict_for({.limit = limit}, in_force(store_, std::move(all.records)), lock, report));
    if (!report.evicted.empty()) {
      log(store_.log_sink(), LogLevel::info,
          "evicted " + std::to_string(report.evicted.size()) + " entries of " +
              std::to_string(report.evicted_bytes) + " bytes for the home's limit");
    }
    return report.kept_bytes;
  }();
  if (!swept)
    log(store_.log_sink(), LogLevel::debug, "the home's limit is kept later: " + swept.error().to_line());
  limit_watch_.counted(swept ? std::optional(*swept) : std::nullopt, *limit);
}

Result<SweepReport> LocalHome::sweep(const SweepOptions& options) {
  if (options.limit) CUBINET_TRY(check_limit(*options.limit));
  FileSweep sweep(store_, options.dry_run);
  CUBINET_TRY(sweep.only_counts() ? check_process() : check_writable());
  StoreLock lock = store_lock();
  if (!sweep.only_counts()) CUBINET_TRY(lock.exclude());
  for (const fs::path& folder : {store_.home().records(), store_.home().imports(), store_.home().quarantine(),
                                 store_.home().downloads(), store_.home().channels()}) {
    CUBINET_TRY_ASSIGN(const auto paths, store_.files_below(folder));
    CUBINET_TRY(remove_left_overs(sweep, paths));
  }
  CUBINET_TRY(sweep_downloads(sweep));
  CUBINET_TRY_ASSIGN(const auto beside_index, temporaries_beside_index(store_));
  CUBINET_TRY(remove_left_overs(sweep, beside_index));
  CUBINET_TRY_ASSIGN(const auto paths, store_.files_below(store_.home().cubins()));
  {
    // A temporary hard link has the age of its target, so it may be in use.
    const auto alone = sweep.only_counts() ? std::optional<std::unique_ptr<FileLock>>(nullptr)
                                           : imports_.lock_out_bringers();
    if (alone) CUBINET_TRY(remove_left_overs(sweep, paths));
  }
  if (!sweep.only_counts()) CUBINET_TRY(remove_idle_locks(store_, access_.lock_path()));
  CUBINET_TRY_ASSIGN(Survey survey, survey_records(store_));
  CUBINET_TRY_ASSIGN(auto kept, sweep_records(sweep, survey));
  std::set<Sha256Digest> images;
  for (const fs::path& path : paths) {
    if (const auto digest = store_.home().cubin_digest(path)) images.insert(*digest);
  }
  CUBINET_TRY(remove_unnamed_images(sweep, imports_, images,
                                    survey.unreadable.empty() ? &survey.named : nullptr,
                                    !sweep.only_counts() && !lock.real()));
  if (survey.unreadable.empty()) {
    CUBINET_TRY(evict_for(options, std::move(kept), lock, sweep.report));
  } else {
    log(store_.log_sink(), LogLevel::warning,
        "nothing is evicted while there are records that cannot be read");
  }
  lock.release();
  if (options.dry_run) return sweep.report;
  for (const std::uint64_t number : sweep.report.evicted_imports)
    CUBINET_TRY(imports_.remove(number));
  forget_uses_of_what_is_gone();
  if (auto shortened = journal_.shorten(); !shortened)
    log(store_.log_sink(), LogLevel::warning, "the journal stays as it is: " + shortened.error().to_line());
  return sweep.report;
}

Result<void> LocalHome::pin(KernelKey key) {
  CUBINET_TRY(check_writable());
  StoreLock lock = store_lock();
  CUBINET_TRY(lock.share());
  return write_pin(store_, key);
}

Result<bool> LocalHome::unpin(KernelKey key) {
  CUBINET_TRY(check_writable());
  return remove_pin(store_, key);
}

Result<void> LocalHome::set_limit(const std::optional<SizeLimit>& limit) {
  CUBINET_TRY(check_writable());
  if (limit) CUBINET_TRY(check_limit(*limit));
  return write_limit(store_, limit);
}

}  // namespace cubinet
