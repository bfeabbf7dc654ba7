// SPDX-License-Identifier: Apache-2.0
#include "index.hpp"

#include "index_snapshot.hpp"
#include "sqlite.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <sys/vfs.h>

namespace cubinet {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kApplicationId = 0x43424e54;  // "CBNT"
// Version history: 1 (2026-11) the first. docs/formats/registry.md
constexpr std::int64_t kSchemaVersion = 1;

// A commit of another process holds readers off for some milliseconds. Whoever still waits after this reads
// the record files instead, so the limits are short; writers wait longer, because what they leave out is
// slower to find.
constexpr milliseconds kReadLimit{50};
constexpr milliseconds kOpenLimit{250};
constexpr milliseconds kWriteLimit{2'000};

constexpr const char* kSchema = R"(
CREATE TABLE entries (
  id           INTEGER PRIMARY KEY,
  key          INTEGER NOT NULL,
  published_ns INTEGER NOT NULL,
  size         INTEGER NOT NULL,
  template     TEXT NOT NULL,
  target       TEXT NOT NULL,
  fingerprint  BLOB NOT NULL,
  digest       BLOB NOT NULL,
  encoding     BLOB NOT NULL,
  record       BLOB NOT NULL
) STRICT;
CREATE INDEX entries_by_key ON entries (key);
CREATE INDEX entries_by_digest ON entries (digest, size);
PRAGMA application_id = 0x43424e54;
PRAGMA user_version = 1;
)";

enum class Query : std::size_t {
  find,
  list,
  data_version,
  all_rows,
  totals,
  names_image,
  find_row,
  insert,
  erase,
  clear,
  count_
};

constexpr std::array<std::string_view, static_cast<std::size_t>(Query::count_)> kQueries = {
    "SELECT record, published_ns FROM entries WHERE key = ?1 AND encoding = ?2",
    "SELECT record, published_ns FROM entries",
    "PRAGMA data_version",
    "SELECT key, record, published_ns FROM entries",
    "SELECT (SELECT count(*) FROM entries), count(*), coalesce(sum(size), 0) FROM (SELECT DISTINCT digest, "
    "size FROM "
    "entries)",
    "SELECT 1 FROM entries WHERE digest = ?1 LIMIT 1",
    "SELECT record, published_ns FROM entries WHERE key = ?1 AND encoding = ?2 AND fingerprint = ?3",
    "INSERT INTO entries (key, published_ns, size, template, target, fingerprint, digest, encoding, record) "
    "VALUES (?1, "
    "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    "DELETE FROM entries WHERE key = ?1 AND encoding = ?2 AND fingerprint = ?3",
    "DELETE FROM entries",
};

std::int64_t as_integer(KernelKey key) {
  return static_cast<std::int64_t>(key.value);
}

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

  Result<void> prepare(const std::filesystem::path& file, Mode mode, const Source& records);

  Result<std::vector<StoredRecord>> find(const KernelIdentity& identity) override;
  Result<std::vector<StoredRecord>> list() override { return read(statement(Query::list)); }
  Result<IndexTotals> totals() override;
  Result<bool> names_image(const Sha256Digest& digest) override;
  Result<void> put(const StoredRecord& record) override;
  Result<bool> erase(const CubinRecord& record) override;
  Result<std::uint64_t> replace_all(const Source& records) override;
  Result<void> check() override;
  bool moved() const override { return database_.moved(); }
  void abandon() override {
    // Finalizing is as forbidden in a forked child as closing is.
    static_cast<void>(new std::vector<sqlite::Statement>(std::move(statements_)));
    database_.abandon();
  }

 private:
  class Patience;
  sqlite::Statement& statement(Query query) { return statements_[static_cast<std::size_t>(query)]; }

  Result<void> adopt_schema(Mode mode, const Source& records);
  Result<void> create_schema(const Source& records);
  Result<void> choose_journal(const std::filesystem::path& file, bool created);
  // Changes with every commit of any process.
  Result<std::uint64_t> version();
  Result<std::uint64_t> count();
  Result<bool> read_snapshot(std::uint64_t version);
  Result<std::vector<StoredRecord>> read(sqlite::Statement& bound);
  Result<void> prepare_statements();
  Result<bool> erase_row(const CubinRecord& record);
  Result<void> insert(const StoredRecord& record, const Bytes& encoded);
  Result<bool> holds(const StoredRecord& record, const Bytes& encoded);
  Result<std::uint64_t> insert_all(const Source& records);

  sqlite::Database database_;
  std::vector<sqlite::Statement> statements_;
  IndexSnapshot snapshot_;
  std::optional<std::uint64_t> rows_;  // when they were last counted
  std::uint64_t own_writes_ = 0;
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

Result<void> SqliteIndex::prepare_statements() {
  for (const std::string_view sql : kQueries) {
    CUBINET_TRY_ASSIGN(auto prepared, database_.prepare(sql));
    statements_.push_back(std::move(prepared));
  }
  return {};
}

// SQLite commits the pragmas that are stored in the file with the transaction that they are part of, so a
// version number that is there says that the tables are there, and filled.
Result<void> SqliteIndex::create_schema(const Source& records) {
  const Patience patience(database_);
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY_ASSIGN(const std::int64_t version, database_.integer("PRAGMA user_version"));
  if (version != 0) return {};  // somebody else was faster
  CUBINET_TRY(database_.execute(kSchema));
  CUBINET_TRY(prepare_statements());
  CUBINET_TRY(insert_all(records));
  created_ = true;
  return transaction.commit();
}

Result<void> SqliteIndex::adopt_schema(Mode mode, const Source& records) {
  CUBINET_TRY_ASSIGN(const std::int64_t tables, database_.integer("SELECT count(*) FROM sqlite_schema"));
  CUBINET_TRY_ASSIGN(std::int64_t application, database_.integer("PRAGMA application_id"));
  CUBINET_TRY_ASSIGN(std::int64_t version, database_.integer("PRAGMA user_version"));
  if (tables == 0 && application == 0 && version == 0) {
    if (mode == Mode::read_only) return Error{ErrorCode::not_found, "the index is empty"};
    CUBINET_TRY(create_schema(records));
    CUBINET_TRY_ASSIGN(application, database_.integer("PRAGMA application_id"));
    CUBINET_TRY_ASSIGN(version, database_.integer("PRAGMA user_version"));
  }
  if (application != kApplicationId)
    return Error{ErrorCode::corruption, "the index is another program's database"};
  if (version > kSchemaVersion) {
    return Error{ErrorCode::unsupported,
                 "the index has schema version " + std::to_string(version) + ", this build knows up to " +
                     std::to_string(kSchemaVersion),
                 "use the newer cubinet, or remove index.sqlite: it is made anew from the records"};
  }
  if (version < kSchemaVersion) return Error{ErrorCode::corruption, "the index has no valid schema version"};
  return {};
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
  // NORMAL can lose the last commits with the power, and they are found again through their record files.
  return database_.execute("PRAGMA synchronous=NORMAL");
}

Result<void> SqliteIndex::prepare(const std::filesystem::path& file, Mode mode, const Source& records) {
  database_.set_time_limit(kOpenLimit);
  CUBINET_TRY(adopt_schema(mode, records));
  if (mode == Mode::read_write) {
    CUBINET_TRY(choose_journal(file, created_));
  } else {
    CUBINET_TRY_ASSIGN(const std::string journal, database_.text("PRAGMA journal_mode"));
    write_ahead_log_ = journal == "wal";
  }
  if (statements_.empty()) CUBINET_TRY(prepare_statements());
  database_.set_time_limit(kReadLimit);
  return {};
}

// With a rollback journal the file's own change counter tells, and reading it takes no lock: whoever commits
// writes it before the commit is complete, so an old counter means that nothing has been committed since. A
// write-ahead log leaves it alone; there SQLite keeps a count, of other connections' commits.
Result<std::uint64_t> SqliteIndex::version() {
  if (!write_ahead_log_) return database_.change_counter();
  sqlite::Statement& bound = statement(Query::data_version);
  const sqlite::Run run(bound);
  CUBINET_TRY(bound.step());
  return (static_cast<std::uint64_t>(bound.integer(0)) << 32U) + own_writes_;
}

Result<std::uint64_t> SqliteIndex::count() {
  if (!rows_) {
    CUBINET_TRY_ASSIGN(const IndexTotals counted, totals());
    rows_ = counted.entries;
  }
  return *rows_;
}

// False when somebody committed meanwhile.
Result<bool> SqliteIndex::read_snapshot(std::uint64_t before) {
  sqlite::Statement& bound = statement(Query::all_rows);
  const sqlite::Run run(bound);
  snapshot_.begin(before);
  std::uint64_t rows = 0;
  while (true) {
    auto row = bound.step();
    if (!row || !*row) {
      auto after = row ? version() : Result<std::uint64_t>(row.error());
      if (!after || *after != before) snapshot_.forget();
      if (!after) return std::move(after).error();
      rows_ = rows;
      return *after == before;
    }
    ++rows;
    snapshot_.add(KernelKey{static_cast<std::uint64_t>(bound.integer(0))}, bound.blob(1), bound.integer(2));
  }
}

Result<std::vector<StoredRecord>> SqliteIndex::find(const KernelIdentity& identity) {
  CUBINET_TRY_ASSIGN(const std::uint64_t now, version());
  if (!snapshot_.is_of(now)) {
    CUBINET_TRY_ASSIGN(const std::uint64_t rows, count());
    if (snapshot_.worth_reading(now, rows)) CUBINET_TRY(read_snapshot(now));
  }
  if (snapshot_.is_of(now)) return snapshot_.find(identity);
  CUBINET_TRY_ASSIGN(
      auto found,
      read(
          statement(Query::find).bind(1, as_integer(identity.key())).bind(2, ByteView(identity.encoding()))));
  for (const StoredRecord& record : found) {
    if (!(record.record->identity == identity)) {
      return Error{ErrorCode::corruption, "a row of the index holds the record of another kernel"};
    }
  }
  sort_newest_first(found);
  return found;
}

Result<std::vector<StoredRecord>> SqliteIndex::read(sqlite::Statement& bound) {
  const sqlite::Run run(bound);
  std::vector<StoredRecord> records;
  while (true) {
    CUBINET_TRY_ASSIGN(const bool row, bound.step());
    if (!row) return records;
    auto record = decode_record(bound.blob(0));
    if (!record) {
      // A row is written by whoever wrote the schema's version, so a record of a newer version cannot be in
      // it.
      return Error{ErrorCode::corruption, "a row of the index is damaged: " + record.error().message};
    }
    records.push_back({std::make_shared<const CubinRecord>(*std::move(record)), bound.integer(1)});
  }
}

Result<IndexTotals> SqliteIndex::totals() {
  sqlite::Statement& bound = statement(Query::totals);
  const sqlite::Run run(bound);
  CUBINET_TRY_ASSIGN(const bool row, bound.step());
  if (!row) return Error{ErrorCode::corruption, "the index does not count its rows"};
  const auto count = [&](int column) { return static_cast<std::uint64_t>(bound.integer(column)); };
  return IndexTotals{count(0), count(1), count(2), write_ahead_log_};
}

Result<bool> SqliteIndex::names_image(const Sha256Digest& digest) {
  sqlite::Statement& bound = statement(Query::names_image);
  const sqlite::Run run(bound);
  return bound.bind(1, ByteView(digest.bytes)).step();
}

Result<bool> SqliteIndex::holds(const StoredRecord& stored, const Bytes& encoded) {
  sqlite::Statement& bound = statement(Query::find_row);
  const sqlite::Run run(bound);
  const CubinRecord& record = *stored.record;
  bound.bind(1, as_integer(record.identity.key()))
      .bind(2, ByteView(record.identity.encoding()))
      .bind(3, ByteView(record.fingerprint.digest.bytes));
  CUBINET_TRY_ASSIGN(const bool row, bound.step());
  if (!row) return false;
  const ByteView there = bound.blob(0);
  return bound.integer(1) == stored.published_ns &&
         std::equal(there.begin(), there.end(), encoded.begin(), encoded.end());
}

Result<void> SqliteIndex::insert(const StoredRecord& stored, const Bytes& encoded) {
  const CubinRecord& record = *stored.record;
  CUBINET_TRY_ASSIGN(const DecodedIdentity decoded, decode_identity(record.identity.encoding()));
  const std::string target = record.target.to_string();
  sqlite::Statement& bound = statement(Query::insert);
  const sqlite::Run run(bound);
  bound.bind(1, as_integer(record.identity.key()))
      .bind(2, stored.published_ns)
      .bind(3, static_cast<std::int64_t>(record.size))
      .bind(4, std::string_view(decoded.spec.template_name))
      .bind(5, std::string_view(target))
      .bind(6, ByteView(record.fingerprint.digest.bytes))
      .bind(7, ByteView(record.digest.bytes))
      .bind(8, ByteView(record.identity.encoding()))
      .bind(9, ByteView(encoded));
  CUBINET_TRY(bound.step());
  return {};
}

Result<bool> SqliteIndex::erase_row(const CubinRecord& record) {
  sqlite::Statement& bound = statement(Query::erase);
  const sqlite::Run run(bound);
  bound.bind(1, as_integer(record.identity.key()))
      .bind(2, ByteView(record.identity.encoding()))
      .bind(3, ByteView(record.fingerprint.digest.bytes));
  CUBINET_TRY(bound.step());
  return database_.changes() != 0;
}

Result<void> SqliteIndex::put(const StoredRecord& stored) {
  const Patience patience(database_);
  ++own_writes_;
  const Bytes encoded = encode_record(*stored.record);
  CUBINET_TRY_ASSIGN(const bool there, holds(stored, encoded));
  if (there) return {};
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY(erase_row(*stored.record));
  CUBINET_TRY(insert(stored, encoded));
  return transaction.commit();
}

Result<bool> SqliteIndex::erase(const CubinRecord& record) {
  const Patience patience(database_);
  ++own_writes_;
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY_ASSIGN(const bool erased, erase_row(record));
  CUBINET_TRY(transaction.commit());
  return erased;
}

Result<std::uint64_t> SqliteIndex::insert_all(const Source& records) {
  std::uint64_t count = 0;
  CUBINET_TRY(records([&](const StoredRecord& record) {
    ++count;
    return insert(record, encode_record(*record.record));
  }));
  return count;
}

Result<std::uint64_t> SqliteIndex::replace_all(const Source& records) {
  const Patience patience(database_);
  ++own_writes_;
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  {
    sqlite::Statement& bound = statement(Query::clear);
    const sqlite::Run run(bound);
    CUBINET_TRY(bound.step());
  }
  CUBINET_TRY_ASSIGN(const std::uint64_t count, insert_all(records));
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
                                           const Source& records) {
  const auto database_mode =
      mode == Mode::read_write ? sqlite::Database::Mode::read_write : sqlite::Database::Mode::read_only;
  CUBINET_TRY_ASSIGN(auto database, sqlite::Database::open(file, database_mode));
  auto index = std::make_unique<SqliteIndex>(std::move(database));
  CUBINET_TRY(index->prepare(file, mode, records));
  return std::unique_ptr<Index>(std::move(index));
}

}  // namespace cubinet
