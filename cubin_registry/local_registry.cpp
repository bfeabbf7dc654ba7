// SPDX-License-Identifier: Apache-2.0
#include "local_registry.hpp"

#include <algorithm>
#include <cerrno>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

using Records = std::vector<std::shared_ptr<const CubinRecord>>;

// One kernel with heavy templates takes a minute; a builder that takes longer than this is stopped, not busy.
constexpr std::chrono::minutes kBuildLockLimit{10};

class HeldBuildLock final : public BuildLock {
 public:
  explicit HeldBuildLock(std::unique_ptr<FileLock> lock) : lock_(std::move(lock)) {}

 private:
  std::unique_ptr<FileLock> lock_;  // null where the home knows no locks
};

// The process, not the entry, is what fails: too many open files, no memory. Nothing is said about the bytes.
bool says_nothing_of_the_file(const Error& error) {
  return error.native == EMFILE || error.native == ENFILE || error.native == ENOMEM || error.native == EINTR;
}

// Builds with equal fingerprints are interchangeable, so the first one stays; but a local build is only ever
// made beside a bundle's when that one was of no use, and a newer bundle vouches for what it ships.
bool supersedes(const CubinRecord& wanted, const CubinRecord& there) {
  if (there.origin != CubinOrigin::bundle) return false;
  return wanted.origin == CubinOrigin::compiled || wanted.version > there.version;
}

Records without_times(std::vector<StoredRecord> stored) {
  Records records;
  records.reserve(stored.size());
  for (StoredRecord& record : stored)
    records.push_back(std::move(record.record));
  return records;
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

LocalRegistry::LocalRegistry(std::shared_ptr<FileSystem> files, OpenHome home, LogSink log)
    : store_(std::move(files), std::move(home.home), std::move(log)),
      access_(store_, home.writable),
      index_(store_, home.writable),
      artifacts_(store_, index_, access_) {
  StoreLock lock = store_lock();
  index_.open(lock);
}

LocalRegistry::~LocalRegistry() {
  if (!access_.in_original_process()) index_.abandon();
}

std::vector<StoredRecord> LocalRegistry::records_from_files(KernelKey key) {
  auto records = store_.records_of(key);
  if (records) return *std::move(records);
  log(store_.log_sink(), LogLevel::warning, "records passed over: " + records.error().to_line());
  return {};
}

// For entries that were published while the index was locked, or whose publisher died before it came to the
// index.
void LocalRegistry::add_to_index(const std::vector<StoredRecord>& records) {
  if (records.empty() || !access_.writable()) return;
  StoreLock lock = store_lock();
  if (!lock.share()) return;
  for (const StoredRecord& record : records) {
    index_.run(lock, [&](Index& index) { return index.put(record); });
  }
}

Result<Records> LocalRegistry::find(const KernelIdentity& identity) {
  CUBINET_TRY(check_process());
  StoreLock lock = store_lock();
  auto indexed = index_.use(lock, [&](Index& index) { return index.find(identity); });
  if (indexed && !indexed->empty()) return without_times(*std::move(indexed));
  std::vector<StoredRecord> records = records_from_files(identity.key());
  records.erase(
      std::remove_if(records.begin(), records.end(),
                     [&](const StoredRecord& record) { return !(record.record->identity == identity); }),
      records.end());
  if (indexed) add_to_index(records);
  return without_times(std::move(records));
}

Result<Records> LocalRegistry::find_key(KernelKey key) {
  CUBINET_TRY(check_process());
  std::vector<StoredRecord> records = records_from_files(key);
  return without_times(std::move(records));
}

Result<std::optional<Cubin>> LocalRegistry::load(std::shared_ptr<const CubinRecord> record) {
  CUBINET_TRY(check_process());
  auto image = store_.read_image(record->digest, record->size);
  if (image) return Cubin{std::move(record), *std::move(image)};
  if (says_nothing_of_the_file(image.error())) return std::move(image).error();
  if (!access_.writable()) {
    log(store_.log_sink(), LogLevel::error, "entry passed over: " + image.error().to_line());
    return std::optional<Cubin>();
  }
  return read_again_or_set_aside(std::move(record));
}

// Under the exclusive lock nobody is in the middle of replacing the image by a good one.
std::optional<Cubin> LocalRegistry::read_again_or_set_aside(std::shared_ptr<const CubinRecord> record) {
  StoreLock lock = store_lock();
  if (auto locked = lock.exclude(); !locked) {
    log(store_.log_sink(), LogLevel::error, "a damaged entry stays where it is: " + locked.error().to_line());
    return std::nullopt;
  }
  auto image = store_.read_image(record->digest, record->size);
  if (image) return Cubin{std::move(record), *std::move(image)};
  if (says_nothing_of_the_file(image.error())) return std::nullopt;
  if (image.error().code == ErrorCode::not_found) {
    log(store_.log_sink(), LogLevel::warning, "entry without an image: " + image.error().to_line());
  } else if (!store_.set_aside(store_.home().cubin(record->digest), image.error().message)) {
    return std::nullopt;
  }
  if (auto removed = remove_locked(*record, lock); !removed) {
    log(store_.log_sink(), LogLevel::error,
        "the entry of a damaged image stays: " + removed.error().to_line());
  }
  return std::nullopt;
}

std::optional<StoredRecord> LocalRegistry::entry_that_stays(const std::string& name,
                                                            const CubinRecord& wanted) {
  auto there = store_.read_record(name);
  if (!there) {
    if (names_nothing(there.error())) {
      store_.set_aside(store_.home().record(name), there.error().message);
    }
    return std::nullopt;
  }
  if (supersedes(wanted, *there->record)) return std::nullopt;
  if (!store_.read_image(there->record->digest, there->record->size)) return std::nullopt;
  return *std::move(there);
}

Result<void> LocalRegistry::store_image(const Cubin& cubin) {
  auto there = store_.read_image(cubin.record->digest, cubin.record->size);
  if (there) return {};
  if (there.error().code != ErrorCode::not_found) {
    store_.set_aside(store_.home().cubin(cubin.record->digest), there.error().message);
  }
  return store_.write_image(cubin.record->digest, *cubin.image);
}

Result<void> LocalRegistry::publish(const Cubin& cubin) {
  CUBINET_TRY(check_writable());
  CUBINET_TRY(check_complete(cubin));
  StoreLock lock = store_lock();
  CUBINET_TRY(lock.share());
  const std::string name = entry_name(cubin.record->identity, cubin.record->fingerprint);
  auto stored = entry_that_stays(name, *cubin.record);
  if (!stored) {
    CUBINET_TRY(store_image(cubin));
    CUBINET_TRY_ASSIGN(stored, store_.write_record(cubin.record));
  }
  // The entry is there, whatever becomes of its row: look-ups that find no row turn to the record files.
  index_.run(lock, [&](Index& index) { return index.put(*stored); });
  return {};
}

// REQUIRES: the exclusive lock. The index's "yes" is believed, since it costs at most an image that the next
// sweep removes. Its "no" is not: it lacks what was published while it was locked, or by a process that died
// before it came to the row. So the records are read, once for all images.
Result<void> LocalRegistry::remove_images_unless_named(std::set<Sha256Digest> digests, StoreLock& lock) {
  for (auto digest = digests.begin(); digest != digests.end();) {
    CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().cubin(*digest)));
    const auto named = index_.use(lock, [&](Index& index) { return index.names_image(*digest); });
    digest = !status || (named && *named) ? digests.erase(digest) : std::next(digest);
  }
  if (digests.empty()) return {};
  CUBINET_TRY(store_.for_each_record([&](const std::string&, Result<StoredRecord> record) -> Result<void> {
    if (record) digests.erase(record->record->digest);
    if (!record && !names_nothing(record.error())) digests.clear();  // it may name any of them
    return {};
  }));
  for (const Sha256Digest& digest : digests)
    CUBINET_TRY(store_.files().remove(store_.home().cubin(digest)));
  return {};
}

// REQUIRES: the exclusive lock. The row goes first: when the index is locked, nothing has happened yet.
Result<bool> LocalRegistry::remove_entry(const CubinRecord& record, StoreLock& lock) {
  const std::string name = entry_name(record.identity, record.fingerprint);
  const auto there = store_.read_record(name);
  if (there && !(*there->record == record)) {
    // Superseded since the caller found it: another record has the name now, and its row is to say so.
    index_.run(lock, [&](Index& index) { return index.put(*there); });
    return false;
  }
  const fs::path path = store_.home().record(name);
  const auto erased = index_.use(lock, [&](Index& index) { return index.erase(record); });
  if (!erased) {
    // Without an index, or with one that is not ours to write, the files are all there is.
    const auto why = index_.why_unusable();
    if (why && why->code != ErrorCode::unsupported && why->code != ErrorCode::not_found) return *why;
  }
  CUBINET_TRY_ASSIGN(const bool removed, store_.files().remove(path));
  if (removed) CUBINET_TRY(store_.files().sync_directory(path.parent_path()));
  return erased.value_or(false) || removed;
}

// REQUIRES: the exclusive lock.
Result<bool> LocalRegistry::remove_locked(const CubinRecord& record, StoreLock& lock) {
  CUBINET_TRY_ASSIGN(const bool removed, remove_entry(record, lock));
  CUBINET_TRY(remove_images_unless_named({record.digest}, lock));
  return removed;
}

Result<std::uint64_t> LocalRegistry::remove(const Records& records) {
  CUBINET_TRY(check_writable());
  StoreLock lock = store_lock();
  CUBINET_TRY(lock.exclude());
  std::uint64_t count = 0;
  std::set<Sha256Digest> digests;
  for (const auto& record : records) {
    CUBINET_TRY_ASSIGN(const bool removed, remove_entry(*record, lock));
    count += removed ? 1U : 0U;
    digests.insert(record->digest);
  }
  CUBINET_TRY(remove_images_unless_named(std::move(digests), lock));
  return count;
}

Result<bool> LocalRegistry::remove(const CubinRecord& record) {
  CUBINET_TRY(check_writable());
  StoreLock lock = store_lock();
  CUBINET_TRY(lock.exclude());
  return remove_locked(record, lock);
}

Result<std::unique_ptr<BuildLock>> LocalRegistry::lock_for_build(const KernelIdentity& identity,
                                                                 const BuildFingerprint& fingerprint) {
  CUBINET_TRY(check_process());
  std::unique_ptr<FileLock> lock;
  if (access_.writable()) {
    const fs::path path = store_.home().locks() / (entry_name(identity, fingerprint) + ".lock");
    CUBINET_TRY_ASSIGN(lock, lock_within(store_.files(), path, FileSystem::Sharing::exclusive,
                                         kBuildLockLimit, store_.log_sink()));
  }
  return std::unique_ptr<BuildLock>(std::make_unique<HeldBuildLock>(std::move(lock)));
}

Result<std::vector<StoredRecord>> LocalRegistry::all_good_records() {
  StoreLock lock = store_lock();
  if (auto indexed = index_.use(lock, [](Index& index) { return index.list(); })) return *std::move(indexed);
  std::vector<StoredRecord> records;
  CUBINET_TRY(index_.all_files().records([&](const StoredRecord& record) {
    records.push_back(record);
    return Result<void>();
  }));
  return records;
}

Result<std::vector<KernelRow>> LocalRegistry::kernel_rows() {
  CUBINET_TRY(check_process());
  return artifacts_.kernel_rows();
}

Result<Records> LocalRegistry::list() {
  CUBINET_TRY(check_process());
  CUBINET_TRY_ASSIGN(std::vector<StoredRecord> records, all_good_records());
  sort_newest_first(records);
  std::vector<std::pair<std::string, std::shared_ptr<const CubinRecord>>> named;
  for (StoredRecord& stored : records) {
    CUBINET_TRY_ASSIGN(DecodedIdentity decoded, decode_identity(stored.record->identity.encoding()));
    named.emplace_back(std::move(decoded.spec.name), std::move(stored.record));
  }
  std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return a.second->identity.key() < b.second->identity.key();
  });
  Records sorted;
  for (auto& entry : named)
    sorted.push_back(std::move(entry.second));
  return sorted;
}

Result<std::unique_ptr<Registry>> Registry::open(const RegistryOptions& options) {
  CUBINET_TRY_ASSIGN(OpenHome home, open_home(*options.files, options.home, options.access));
  return std::unique_ptr<Registry>(
      std::make_unique<LocalRegistry>(options.files, std::move(home), options.log));
}

}  // namespace cubinet
