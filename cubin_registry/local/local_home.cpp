// SPDX-License-Identifier: Apache-2.0
#include "local/local_home.hpp"

#include "local/kept_tuning.hpp"
#include "local/left_overs.hpp"
#include "local/siblings.hpp"
#include "store/record_row.hpp"
#include "store/same_build.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/record_lists.hpp>

#include <algorithm>
#include <chrono>

namespace cubinet {
namespace {

// A kernel with heavy templates takes a minute. A builder that takes longer than this is stopped,
// not busy.
constexpr std::chrono::minutes kBuildLockLimit{10};
// A rename older than this is on the disk already: journals commit every 5 s (ext4) or 30 s (XFS,
// btrfs).
constexpr std::chrono::seconds kJournalTime{60};

bool may_be_unsynced(const StoredRecord& stored) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(stored.published_ns) > now - kJournalTime;
}

Result<void> check_complete(const Cubin& cubin) {
  if (cubin.record == nullptr || cubin.image == nullptr) {
    return Error{ErrorCode::invalid_argument, "a cubin without record or image cannot be published"};
  }
  if (cubin.record->size != cubin.image->size() || cubin.record->digest != sha256(*cubin.image)) {
    return Error{
        ErrorCode::invalid_argument,
        "the record of kernel " + cubin.record->identity.key().to_string() + " describes another image"};
  }
  return check_storable(*cubin.record);
}

}  // namespace

LocalHome::LocalHome(std::shared_ptr<FileSystem> files, OpenHome home, LogSink log)
    : store_(std::move(files), std::move(home.home), std::move(log)),
      access_(store_, home.writable, home.why_read_only),
      uses_(store_, access_),
      index_(store_, home.writable, home.why_no_index),
      records_(store_),
      imports_(store_, index_, access_),
      downloads_(store_, access_),
      journal_(store_, access_),
      preferred_(store_),
      description_{.kind = "home",
                   .place = store_.home().root().native(),
                   .source = KernelSource::registry,
                   .writable = home.writable,
                   .why_read_only = std::move(home.why_read_only)} {}

LocalHome::~LocalHome() {
  if (!access_.in_original_process()) index_.abandon();
}

template <class Ask>
Result<CubinRecords> LocalHome::with_imports(CubinRecords records, Ask&& ask) {
  CUBINET_TRY_ASSIGN(const auto folders, imports_.folders());
  for (const auto& folder : *folders) {
    CUBINET_TRY_ASSIGN(const CubinRecords found, ask(*folder));
    records.insert(records.end(), found.begin(), found.end());
  }
  return records;
}

Result<CubinRecords> LocalHome::find(const KernelId& kernel) {
  CUBINET_TRY(check_process());
  auto found = builds_of(kernel);
  uses_.asked(found && !found->empty());
  return found;
}

Result<CubinRecords> LocalHome::builds_of(const KernelId& kernel) {
  preferred_.refresh();
  CUBINET_TRY_ASSIGN(auto stored, records_.of_kernel(kernel));
  stored = in_force(store_, std::move(stored));
  sort_newest_first(stored);
  CubinRecords records;
  for (StoredRecord& each : stored)
    records.push_back(std::move(each.record));
  // Imports have no kernels of templates, so they need not be read.
  if (kernel.maker() == KernelMaker::kernel_template) return records;
  auto with = with_imports(records, [&](ImportedFolder& folder) { return folder.find(kernel); });
  // A kernel that was built here or bundled is in no import, so an unreadable import must not hide
  // it.
  if (with || records.empty()) return with;
  log(store_.log_sink(), LogLevel::warning, "imports skipped: " + with.error().to_line());
  return records;
}

std::vector<Error> LocalHome::unreadable(const KernelId& kernel) {
  if (!check_process()) return {};
  std::vector<Error> errors = records_.unreadable(kernel);
  if (kernel.maker() == KernelMaker::kernel_template) return errors;
  // builds_of() skips imports that fail if the home has a build of its own.
  const auto imported = with_imports({}, [&](ImportedFolder& folder) { return folder.find(kernel); });
  if (!imported) errors.push_back(imported.error());
  return errors;
}

Result<CubinRecords> LocalHome::own_records() {
  CUBINET_TRY(check_process());
  preferred_.refresh();
  StoreLock lock = store_lock();
  CUBINET_TRY_ASSIGN(RecordCache::All all, records_.all([&] {
    RecordCache::Rows rows;
    auto indexed = index_.use(lock, [](Index& index) { return index.records(); });
    if (!indexed) return rows;
    for (StoredRecord& row : *indexed)
      rows.emplace(row.name, std::move(row));
    return rows;
  }));
  // Updates an outdated index, so that the next list need not read the files again.
  const bool lags = !all.from_files.empty() || !all.gone.empty();
  if (lags && access_.writable() && lock.share())
    index_.run(lock, [&](Index& index) { return index.update(all.from_files, all.gone); });
  lock.release();
  auto stored = in_force(store_, std::move(all.records));
  sort_newest_first(stored);
  CubinRecords records;
  for (StoredRecord& each : stored)
    records.push_back(std::move(each.record));
  return records;
}

Result<CubinRecords> LocalHome::find_key(KernelKey key) {
  CUBINET_TRY_ASSIGN(const CubinRecords own, own_records());
  return with_imports(with_key(own, key), [&](ImportedFolder& folder) { return folder.find_key(key); });
}

Result<CubinRecords> LocalHome::find_function(std::string_view symbol) {
  CUBINET_TRY_ASSIGN(const CubinRecords own, own_records());
  return with_imports(with_function(own, symbol),
                      [&](ImportedFolder& folder) { return folder.find_function(symbol); });
}

Result<CubinRecords> LocalHome::list() {
  CUBINET_TRY_ASSIGN(CubinRecords own, own_records());
  CUBINET_TRY_ASSIGN(auto records,
                     with_imports(std::move(own), [](ImportedFolder& folder) -> Result<CubinRecords> {
                       CUBINET_TRY_ASSIGN(const bool there, folder.available());
                       return there ? folder.list() : CubinRecords();
                     }));
  sort_records(records);
  return records;
}

Result<std::shared_ptr<const StoredRows>> LocalHome::rows() {
  CUBINET_TRY_ASSIGN(CubinRecords own, own_records());
  std::erase_if(own, [](const auto& record) { return record->row.empty(); });
  CUBINET_TRY_ASSIGN(const auto folders, imports_.folders());
  LocalImports::Folders available;
  for (const auto& folder : *folders) {
    CUBINET_TRY_ASSIGN(const bool there, folder->available());
    if (there) available.push_back(folder);
  }
  const auto preferred = preferred_.refresh();
  const std::lock_guard guard(rows_mutex_);
  if (rows_ != nullptr && own == rows_records_ && available == rows_folders_ && preferred == rows_preferred_)
    return rows_;
  StoredRows rows;
  for (const auto& record : own) {
    if (auto row = row_of(*record)) rows.push_back({std::move(row), record});
  }
  for (const auto& folder : available) {
    CUBINET_TRY_ASSIGN(const auto theirs, folder->rows());
    rows.insert(rows.end(), theirs->begin(), theirs->end());
  }
  auto made = std::make_shared<const StoredRows>(std::move(rows));
  rows_records_ = std::move(own);
  rows_folders_ = std::move(available);
  rows_preferred_ = preferred;
  rows_ = std::move(made);
  return rows_;
}

std::string LocalHome::place_of(const CubinRecord& record) const {
  if (record.origin == CubinOrigin::imported) {
    const auto import = imports_.read(record.version);
    if (import && *import != nullptr) return (*import)->folder;
  }
  return description_.place;
}

Result<std::optional<Cubin>> LocalHome::load_imported(std::shared_ptr<const CubinRecord> record) {
  CUBINET_TRY_ASSIGN(const auto folders, imports_.folders());
  for (const auto& folder : *folders) {
    if (folder->number() == record->version) return folder->load(std::move(record));
  }
  return std::optional<Cubin>();
}

Result<std::optional<Cubin>> LocalHome::load(std::shared_ptr<const CubinRecord> record) {
  CUBINET_TRY(check_process());
  auto loaded = verified_build(std::move(record));
  if (loaded && *loaded) uses_.used((*loaded)->record->digest);
  return loaded;
}

Result<std::optional<Cubin>> LocalHome::verified_build(std::shared_ptr<const CubinRecord> record) {
  if (record->origin == CubinOrigin::imported) return load_imported(std::move(record));
  auto image = store_.read_image(record->digest, record->size);
  if (image) return Cubin{std::move(record), *std::move(image)};
  if (image.error().code != ErrorCode::not_found && !is_no_image(image.error()))
    return std::move(image).error();
  if (!access_.writable()) {
    log(store_.log_sink(), LogLevel::error, "entry skipped: " + image.error().to_line());
    return std::optional<Cubin>();
  }
  if (image.error().code == ErrorCode::not_found) {
    // A removal deletes the record first, so nothing needs repair and no lock is needed.
    const auto there = store_.files().status(store_.home().record(entry_name(*record)));
    if (there && !*there) return std::optional<Cubin>();
  }
  return read_again_or_set_aside(std::move(record));
}

// The exclusive lock ensures that nobody is replacing the image by a good one.
std::optional<Cubin> LocalHome::read_again_or_set_aside(std::shared_ptr<const CubinRecord> record) {
  StoreLock lock = store_lock();
  if (auto locked = lock.exclude(); !locked) {
    log(store_.log_sink(), LogLevel::error, "a damaged entry stays where it is: " + locked.error().to_line());
    return std::nullopt;
  }
  auto image = store_.read_image(record->digest, record->size);
  if (image) return Cubin{std::move(record), *std::move(image)};
  if (image.error().code == ErrorCode::not_found) {
    log(store_.log_sink(), LogLevel::warning, "entry without an image: " + image.error().to_line());
  } else if (!is_no_image(image.error()) ||
             !store_.set_aside(store_.home().cubin(record->digest), image.error().message)) {
    return std::nullopt;
  }
  if (auto removed = remove_locked({record}, lock); !removed) {
    log(store_.log_sink(), LogLevel::error,
        "the entry of a damaged image stays: " + removed.error().to_line());
  }
  return std::nullopt;
}

Result<void> LocalHome::store_image(const Cubin& cubin) {
  auto there = store_.read_image(cubin.record->digest, cubin.record->size);
  // The process that wrote it may have been killed before it synced the folder.
  if (there) return store_.files().sync_directory(store_.home().cubin(cubin.record->digest).parent_path());
  if (is_no_image(there.error()))
    store_.set_aside(store_.home().cubin(cubin.record->digest), there.error().message);
  return store_.write_image(cubin.record->digest, *cubin.image);
}

Result<void> LocalHome::publish(const Cubin& cubin) {
  CUBINET_TRY(check_writable());
  CUBINET_TRY(check_complete(cubin));
  StoreLock lock = store_lock();
  CUBINET_TRY(lock.share());
  CUBINET_TRY_ASSIGN(auto there, records_.of_kernel(cubin.record->identity.kernel()));
  std::erase_if(there, [&](const StoredRecord& each) { return !is_same_build(*each.record, *cubin.record); });
  for (const StoredRecord& each : there) {
    if (supersedes(*cubin.record, *each.record)) continue;
    if (!store_.read_image(each.record->digest, each.record->size)) continue;
    if (!may_be_unsynced(each)) return {};
    CUBINET_TRY(store_.files().sync_directory(store_.home().cubin(each.record->digest).parent_path()));
    return store_.files().sync_directory(store_.home().record(each.name).parent_path());
  }
  CUBINET_TRY(store_image(cubin));
  const std::string name = entry_name(*cubin.record);
  if (const auto damaged = store_.read_record(name); !damaged && names_nothing(damaged.error()))
    store_.set_aside(store_.home().record(name), damaged.error().message);
  CUBINET_TRY_ASSIGN(const StoredRecord stored, store_.write_record(cubin.record));
  // The build is published, even if removing the replaced ones or writing its row fails: lists read
  // the files.
  std::vector<std::string> replaced;
  for (const StoredRecord& each : there) {
    if (each.name == stored.name) continue;
    if (auto removed = store_.remove_records({&each.name, 1}); !removed)
      log(store_.log_sink(), LogLevel::warning, "a replaced record stays: " + removed.error().to_line());
    replaced.push_back(each.name);
  }
  index_.run(lock, [&](Index& index) { return index.update({&stored, 1}, replaced); });
  lock.release();
  uses_.flush();
  keep_limit(cubin.record->size);
  return {};
}

// Measurements only affect choices, so an unusable file counts as empty; verify() reports it.
Result<TuningTable> LocalHome::tuning() {
  CUBINET_TRY(check_process());
  auto kept = checked_tuning();
  if (kept) return kept;
  log(store_.log_sink(), LogLevel::warning, "measurements skipped: " + kept.error().to_line());
  return TuningTable();
}

Result<TuningTable> LocalHome::checked_tuning() {
  CUBINET_TRY(check_process());
  return read_tuning(store_);
}

Result<void> LocalHome::add_tuning(const TuningTable& table) {
  CUBINET_TRY(check_writable());
  StoreLock lock = store_lock();
  CUBINET_TRY(lock.exclude());
  return merge_tuning(store_, table);
}

// REQUIRES: the exclusive lock.
Result<std::uint64_t> LocalHome::remove_locked(const CubinRecords& records, StoreLock& lock) {
  std::set<Sha256Digest> digests;
  std::vector<std::string> names;
  for (const auto& record : records)
    names.push_back(entry_name(*record));
  CUBINET_TRY_ASSIGN(const std::uint64_t count, store_.remove_records(names));
  for (const auto& record : records) {
    CUBINET_TRY_ASSIGN(const auto image, store_.files().status(store_.home().cubin(record->digest)));
    if (image) digests.insert(record->digest);
  }
  if (!names.empty()) index_.run(lock, [&](Index& index) { return index.update({}, names); });
  if (digests.empty()) return count;
  std::set<Sha256Digest> named;
  CUBINET_TRY_ASSIGN(const bool complete, add_images_of_records(store_, named));
  FileSweep sweep(store_, false);
  CUBINET_TRY(remove_unnamed_images(sweep, imports_, digests, complete ? &named : nullptr, false));
  return count;
}

Result<CubinRecords> LocalHome::hidden_by(const CubinRecords& records) {
  CubinRecords hidden;
  for (const auto& record : records) {
    CUBINET_TRY_ASSIGN(auto siblings, records_.of_kernel(record->identity.kernel()));
    std::erase_if(siblings, [&](const StoredRecord& each) { return !is_same_build(*each.record, *record); });
    if (siblings.size() < 2 || *in_force(store_, siblings).front().record != *record) continue;
    for (StoredRecord& sibling : siblings) {
      if (*sibling.record != *record) hidden.push_back(std::move(sibling.record));
    }
  }
  return hidden;
}

Result<std::uint64_t> LocalHome::remove(const CubinRecords& records) {
  CUBINET_TRY(check_writable());
  StoreLock lock = store_lock();
  CUBINET_TRY(lock.exclude());
  return remove_with_hidden(records, lock);
}

// REQUIRES: the exclusive lock.
Result<std::uint64_t> LocalHome::remove_with_hidden(const CubinRecords& records, StoreLock& lock) {
  // Hidden records are removed before those that hide them, so that an interrupted removal does not
  // restore them.
  CUBINET_TRY_ASSIGN(const CubinRecords hidden, hidden_by(records));
  CUBINET_TRY(remove_locked(hidden, lock));
  return remove_locked(records, lock);
}

Result<std::unique_ptr<BuildLock>> LocalHome::lock_for_build(const KernelIdentity& identity,
                                                             const BuildFingerprint& fingerprint) {
  CUBINET_TRY(check_process());
  if (!access_.writable()) return hold(nullptr);
  const auto path = store_.home().build_lock(identity, fingerprint);
  const auto take = [&](FileSystem::Sharing sharing, std::chrono::milliseconds limit) {
    return lock_within(store_.files(), path, sharing, limit, store_.log_sink());
  };
  auto lock = take(FileSystem::Sharing::exclusive, std::chrono::milliseconds(0));
  if (!lock && lock.error().code == ErrorCode::busy) {
    const auto is_there = [&] {
      const auto builds = builds_of(identity.kernel());
      return builds && std::any_of(builds->begin(), builds->end(), [&](const auto& record) {
               return record->fingerprint == fingerprint && record->identity == identity;
             });
    };
    // An existing build is built again because it is unusable.
    const bool was_there = is_there();
    // Processes that wait for one build continue together, unless it was not built.
    lock = take(FileSystem::Sharing::shared, kBuildLockLimit);
    if (lock && (was_there || !is_there())) {
      lock->reset();
      lock = take(FileSystem::Sharing::exclusive, kBuildLockLimit);
    }
  }
  if (!lock) return std::move(lock).error();
  return hold(*std::move(lock));
}

Result<std::shared_ptr<Home>> Home::open(const HomeOptions& options) {
  const auto files = options.files == nullptr ? posix_file_system() : options.files;
  CUBINET_TRY_ASSIGN(OpenHome home, open_home(*files, options));
  return std::shared_ptr<Home>(std::make_shared<LocalHome>(files, std::move(home), options.log));
}

}  // namespace cubinet
