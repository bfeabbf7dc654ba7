// SPDX-License-Identifier: Apache-2.0
#include "index.hpp"

#include "entry_table.hpp"
#include "index_schema.hpp"
#include "index_snapshot.hpp"
#include "kernel_row_table.hpp"
#include "name_snapshot.hpp"
#include "record_row.hpp"
#include "verified_table.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <sys/vfs.h>

namespace cubinet {
namespace {

using std::chrono::milliseconds;

// A commit of another process holds readers off for some milliseconds. Whoever still waits after this reads
// the record files instead, so the limits are short; writers wait longer, because what they leave out is
// slower to find.
constexpr milliseconds kReadLimit{50};
constexpr milliseconds kOpenLimit{250};
constexpr milliseconds kWriteLimit{2'000};

// Where the log's shared memory works: one machine, one kernel.
bool on_local_disk(const std::filesystem::path& folder) {
  struct statfs info {};
  if (::statfs(folder.c_str(), &info) != 0) return false;
  constexpr std::array<long, 6> kLocal = {0xEF53,                         // ext2, ext3, ext4
                                          0x58465342,                     // XFS
                                          static_cast<long>(0x9123683E),  // Btrfs
                                          0x01021994,                     // tmpfs
                                          static_cast<long>(0xF2F52010),  // F2FS
                                          0x2FC12FC1};                    // ZFS
  return std::find(kLocal.begin(), kLocal.end(), static_cast<long>(info.f_type)) != kLocal.end();
}

class SqliteIndex final : public Index {
 public:
  explicit SqliteIndex(sqlite::Database database) : database_(std::move(database)) {}

  Result<void> prepare(const std::filesystem::path& file, Mode mode, const Source& source);

  Result<std::vector<StoredRecord>> find(const KernelIdentity& identity) override;
  Result<std::vector<StoredRecord>> list() override { return entries_.list(); }
  Result<IndexTotals> totals() override;
  Result<std::uint64_t> entry_count() override { return entries_.count(); }
  Result<bool> names_image(const Sha256Digest& digest) override { return entries_.names_image(digest); }
  Result<std::vector<KernelRow>> kernel_rows() override;
  Result<std::vector<IndexedImport>> imports() override { return imports_.list(); }
  Result<std::vector<NamedKernel>> find_named(std::string_view function_name) override;
  Result<std::vector<ArtifactLocation>> locate(const Sha256Digest& digest) override {
    return imports_.locate(digest);
  }
  Result<std::vector<VerifiedFile>> verified(std::string_view folder) override {
    return verified_.list(folder);
  }
  Result<void> put(const StoredRecord& record) override;
  Result<bool> erase(const CubinRecord& record) override;
  Result<void> put_import(const StoredImport& import) override;
  Result<void> erase_import(std::uint64_t number) override;
  Result<void> remember(std::string_view folder, std::span<const VerifiedFile> files) override;
  Result<std::uint64_t> replace_all(const Source& source) override;
  Result<void> check() override;
  bool moved() const override { return database_.moved(); }
  void abandon() override;

 private:
  class Patience;

  Result<void> adopt_schema(Mode mode, const Source& source);
  Result<void> create_schema(const Source& source);
  Result<void> choose_journal(const std::filesystem::path& file, bool created);
  Result<void> prepare_tables();
  // Changes with every commit of any process.
  Result<std::uint64_t> version();
  Result<std::uint64_t> count();
  Result<bool> read_snapshot(std::uint64_t version);
  Result<void> read_names();
  // The following are parts of a write transaction.
  Result<bool> erase_entry(const CubinRecord& record);
  Result<void> insert(const StoredRecord& record, const Bytes& encoded);
  Result<void> insert_import(const StoredImport& import);
  Result<void> erase_rows_of_import(std::uint64_t number);
  Result<std::uint64_t> insert_all(const Source& source);

  sqlite::Database database_;
  IndexStatements own_;
  EntryTable entries_;
  KernelRowTable kernels_;
  ImportTable imports_;
  VerifiedTable verified_;
  IndexSnapshot snapshot_;
  NameSnapshot names_;
  std::optional<std::uint64_t> rows_;  // when they were last counted
  std::uint64_t own_writes_ = 0;
  bool prepared_ = false;
  bool created_ = false;
  bool write_ahead_log_ = false;
};

// Writers wait longer for the lock than readers do.
class SqliteIndex::Patience {
 public:
  explicit Patience(sqlite::Database& database) : database_(database) {
    database_.set_time_limit(kWriteLimit);
  }
  ~Patience() { database_.set_time_limit(kReadLimit); }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  sqlite::Database& database_;
};

void SqliteIndex::abandon() {
  own_.abandon();
  entries_.abandon();
  kernels_.abandon();
  imports_.abandon();
  verified_.abandon();
  database_.abandon();
}

Result<void> SqliteIndex::prepare_tables() {
  constexpr std::array<std::string_view, 1> kOwn = {"PRAGMA data_version"};
  CUBINET_TRY(own_.prepare(database_, kOwn));
  CUBINET_TRY(entries_.prepare(database_));
  CUBINET_TRY(kernels_.prepare(database_));
  CUBINET_TRY(imports_.prepare(database_));
  CUBINET_TRY(verified_.prepare(database_));
  prepared_ = true;
  return {};
}

// SQLite commits the pragmas that are stored in the file with the transaction that they are part of, so a
// version number that is there says that the tables are there, and filled.
Result<void> SqliteIndex::create_schema(const Source& source) {
  const Patience patience(database_);
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY_ASSIGN(const IndexSchema schema, inspect_schema(database_));
  if (schema == IndexSchema::current) return {};  // somebody else was faster
  CUBINET_TRY(create_index_schema(database_));
  CUBINET_TRY(prepare_tables());
  CUBINET_TRY(insert_all(source));
  created_ = schema == IndexSchema::empty;
  return transaction.commit();
}

Result<void> SqliteIndex::adopt_schema(Mode mode, const Source& source) {
  CUBINET_TRY_ASSIGN(const IndexSchema schema, inspect_schema(database_));
  if (schema == IndexSchema::current) return {};
  if (mode == Mode::read_write) return create_schema(source);
  if (schema == IndexSchema::empty) return Error{ErrorCode::not_found, "the index is empty"};
  return Error{ErrorCode::unavailable, "the index has an older schema",
               "whoever opens the registry to write makes it anew"};
}

// The mode lies in the file, and builds with different libraries may share a home: one whose write-ahead log
// is not sound turns the log off, or does not use the index.
Result<void> SqliteIndex::choose_journal(const std::filesystem::path& file, bool created) {
  const bool sound = sqlite::write_ahead_log_is_sound(sqlite3_libversion_number());
  if (created && sound && on_local_disk(file.parent_path())) {
    CUBINET_TRY(database_.text("PRAGMA journal_mode=WAL"));
  }
  CUBINET_TRY_ASSIGN(std::string mode, database_.text("PRAGMA journal_mode"));
  if (mode == "wal" && !sound) {
    CUBINET_TRY_ASSIGN(mode, database_.text("PRAGMA journal_mode=DELETE"));
    if (mode == "wal")
      return Error{ErrorCode::busy, "the index has a write-ahead log, which this SQLite gets wrong"};
  }
  write_ahead_log_ = mode == "wal";
  // NORMAL can lose the last commits with the power, and they are found again through their files.
  return database_.execute("PRAGMA synchronous=NORMAL");
}

Result<void> SqliteIndex::prepare(const std::filesystem::path& file, Mode mode, const Source& source) {
  database_.set_time_limit(kOpenLimit);
  CUBINET_TRY(adopt_schema(mode, source));
  if (mode != Mode::read_only) {
    CUBINET_TRY(choose_journal(file, created_));
  } else {
    CUBINET_TRY_ASSIGN(const std::string journal, database_.text("PRAGMA journal_mode"));
    write_ahead_log_ = journal == "wal";
  }
  if (!prepared_) CUBINET_TRY(prepare_tables());
  database_.set_time_limit(kReadLimit);
  return {};
}

// With a rollback journal the file's own change counter tells, and reading it takes no lock: whoever commits
// writes it before the commit is complete, so an old counter means that nothing has been committed since. A
// write-ahead log leaves it alone; there SQLite keeps a count, of other connections' commits.
Result<std::uint64_t> SqliteIndex::version() {
  if (!write_ahead_log_) return database_.change_counter();
  sqlite::Statement& bound = own_[0];
  const sqlite::Run run(bound);
  CUBINET_TRY(bound.step());
  return (static_cast<std::uint64_t>(bound.integer(0)) << 32U) + own_writes_;
}

Result<std::uint64_t> SqliteIndex::count() {
  if (!rows_) {
    CUBINET_TRY_ASSIGN(rows_, entries_.count());
  }
  return *rows_;
}

// False when somebody committed meanwhile.
Result<bool> SqliteIndex::read_snapshot(std::uint64_t before) {
  snapshot_.begin(before);
  std::uint64_t rows = 0;
  auto after = entries_
                   .for_each([&](KernelKey key, ByteView record, std::int64_t published_ns) {
                     ++rows;
                     snapshot_.add(key, record, published_ns);
                   })
                   .and_then([&] { return version(); });
  if (!after || *after != before) snapshot_.forget();
  if (!after) return std::move(after).error();
  rows_ = rows;
  return *after == before;
}

Result<std::vector<StoredRecord>> SqliteIndex::find(const KernelIdentity& identity) {
  CUBINET_TRY_ASSIGN(const std::uint64_t now, version());
  if (!snapshot_.is_of(now)) {
    CUBINET_TRY_ASSIGN(const std::uint64_t rows, count());
    if (snapshot_.worth_reading(now, rows)) CUBINET_TRY(read_snapshot(now));
  }
  if (snapshot_.is_of(now)) return snapshot_.find(identity);
  CUBINET_TRY_ASSIGN(auto found, entries_.find(identity));
  sort_newest_first(found);
  return found;
}

Result<IndexTotals> SqliteIndex::totals() {
  CUBINET_TRY_ASSIGN(const EntryTable::Totals counted, entries_.totals());
  return IndexTotals{counted.entries, counted.cubins, counted.cubin_bytes, write_ahead_log_};
}

Result<std::vector<KernelRow>> SqliteIndex::kernel_rows() {
  CUBINET_TRY_ASSIGN(const std::vector<IndexedImport> known, imports_.list());
  std::map<std::uint64_t, std::string> sources;
  for (const IndexedImport& import : known)
    sources.emplace(import.stamp.number, import.summary.folder.native());
  return kernels_.read(sources);
}

Result<std::vector<NamedKernel>> SqliteIndex::find_named(std::string_view function_name) {
  CUBINET_TRY_ASSIGN(const std::vector<IndexedImport> known, imports_.list());
  if (!names_.is_of(known)) CUBINET_TRY(read_names());
  return names_.find(function_name);
}

// In one transaction, so that an import that another process publishes meanwhile is there in whole or not at
// all.
Result<void> SqliteIndex::read_names() {
  CUBINET_TRY_ASSIGN(const auto transaction, sqlite::ReadTransaction::begin(database_));
  CUBINET_TRY_ASSIGN(const std::vector<IndexedImport> known, imports_.list());
  CUBINET_TRY_ASSIGN(const std::vector<KernelRow> rows, kernels_.read({}));
  CUBINET_TRY_ASSIGN(auto plain, imports_.plain_kernels());
  return names_.fill(known, rows, std::move(plain));
}

Result<void> SqliteIndex::insert(const StoredRecord& stored, const Bytes& encoded) {
  CUBINET_TRY_ASSIGN(const std::int64_t id, entries_.insert(stored, encoded));
  if (const auto row = row_of(*stored.record)) return kernels_.insert_of_entry(id, *row);
  return {};
}

Result<bool> SqliteIndex::erase_entry(const CubinRecord& record) {
  CUBINET_TRY_ASSIGN(const auto id, entries_.id_of(record));
  if (!id) return false;
  CUBINET_TRY(kernels_.erase_entry(*id));
  CUBINET_TRY(entries_.erase(*id));
  return true;
}

Result<void> SqliteIndex::put(const StoredRecord& stored) {
  const Patience patience(database_);
  ++own_writes_;
  const Bytes encoded = encode_record(*stored.record);
  CUBINET_TRY_ASSIGN(const bool there, entries_.holds(stored, encoded));
  if (there) return {};
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY(erase_entry(*stored.record));
  CUBINET_TRY(insert(stored, encoded));
  return transaction.commit();
}

Result<bool> SqliteIndex::erase(const CubinRecord& record) {
  const Patience patience(database_);
  ++own_writes_;
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY_ASSIGN(const bool erased, erase_entry(record));
  CUBINET_TRY(transaction.commit());
  return erased;
}

Result<void> SqliteIndex::insert_import(const StoredImport& stored) {
  CUBINET_TRY(imports_.insert(stored));
  for (const KernelRow& row : stored.content.rows)
    CUBINET_TRY(kernels_.insert_of_import(stored.stamp.number, row));
  return {};
}

Result<void> SqliteIndex::erase_rows_of_import(std::uint64_t number) {
  CUBINET_TRY(kernels_.erase_import(number));
  return imports_.erase(number);
}

Result<void> SqliteIndex::put_import(const StoredImport& stored) {
  const Patience patience(database_);
  ++own_writes_;
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY_ASSIGN(const std::vector<IndexedImport> known, imports_.list());
  for (const IndexedImport& other : known) {
    const bool replaced =
        other.stamp.number == stored.stamp.number || other.summary.folder == stored.content.folder;
    if (replaced) CUBINET_TRY(erase_rows_of_import(other.stamp.number));
  }
  CUBINET_TRY(insert_import(stored));
  return transaction.commit();
}

Result<void> SqliteIndex::erase_import(std::uint64_t number) {
  const Patience patience(database_);
  ++own_writes_;
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY(erase_rows_of_import(number));
  return transaction.commit();
}

Result<void> SqliteIndex::remember(std::string_view folder, std::span<const VerifiedFile> files) {
  const Patience patience(database_);
  ++own_writes_;
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY(verified_.put(folder, files));
  return transaction.commit();
}

Result<std::uint64_t> SqliteIndex::insert_all(const Source& source) {
  std::uint64_t count = 0;
  CUBINET_TRY(source.records([&](const StoredRecord& record) {
    ++count;
    return insert(record, encode_record(*record.record));
  }));
  CUBINET_TRY(source.imports([&](const StoredImport& import) { return insert_import(import); }));
  return count;
}

Result<std::uint64_t> SqliteIndex::replace_all(const Source& source) {
  const Patience patience(database_);
  ++own_writes_;
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY(entries_.clear());
  CUBINET_TRY(kernels_.clear());
  CUBINET_TRY(imports_.clear());
  CUBINET_TRY_ASSIGN(const std::uint64_t count, insert_all(source));
  CUBINET_TRY(transaction.commit());
  return count;
}

Result<void> SqliteIndex::check() {
  CUBINET_TRY_ASSIGN(const std::string finding, database_.text("PRAGMA integrity_check(1)"));
  if (finding == "ok") return {};
  return Error{ErrorCode::corruption, "SQLite's check of the index says: " + finding};
}

}  // namespace

Result<std::unique_ptr<Index>> Index::open(const std::filesystem::path& file, Mode mode,
                                           const Source& source) {
  const auto database_mode =
      mode == Mode::read_only ? sqlite::Database::Mode::read_only : sqlite::Database::Mode::read_write;
  CUBINET_TRY_ASSIGN(auto database, sqlite::Database::open(file, database_mode));
  auto index = std::make_unique<SqliteIndex>(std::move(database));
  CUBINET_TRY(index->prepare(file, mode, source));
  return std::unique_ptr<Index>(std::move(index));
}

}  // namespace cubinet
