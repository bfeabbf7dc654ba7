// SPDX-License-Identifier: Apache-2.0
#include "local/index.hpp"

#include "local/index_schema.hpp"
#include "local/verified_table.hpp"

#include <array>
#include <chrono>

namespace cubinet {
namespace {

using std::chrono::milliseconds;

// A commit of another process blocks readers for some milliseconds. After this time a reader uses
// the record files, which have the same content.
constexpr milliseconds kReadLimit{50};
constexpr milliseconds kWriteLimit{250};

constexpr std::array<std::string_view, 3> kEntryQueries = {
    "SELECT name, published_ns, record FROM entries",
    "INSERT OR REPLACE INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    "DELETE FROM entries WHERE name = ?1",
};
enum EntryQuery : std::size_t { read_all, put_row, erase_row };

class SqliteIndex final : public Index {
 public:
  explicit SqliteIndex(sqlite::Database database) : database_(std::move(database)) {}

  Result<void> prepare(Mode mode);

  Result<std::vector<StoredRecord>> records() override;
  Result<void> update(std::span<const StoredRecord> added, std::span<const std::string> gone) override;
  Result<std::vector<VerifiedFile>> verified(std::string_view folder) override {
    return verified_.list(folder);
  }
  Result<void> remember(std::string_view folder, std::span<const VerifiedFile> files) override;
  Result<void> check() override;
  bool moved() const override { return database_.moved(); }
  void abandon() override;

 private:
  class Patience;

  Result<void> make();
  // A newer build may have changed the tables since they were opened. REQUIRES: a write
  // transaction.
  Result<void> check_still_ours();
  Result<void> prepare_to_write();
  Result<void> put(const StoredRecord& stored);

  sqlite::Database database_;
  sqlite::Statements statements_;
  VerifiedTable verified_;
};

// Sets the longer time limit of writers.
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
  statements_.abandon();
  verified_.abandon();
  database_.abandon();
}

// SQLite commits pragmas stored in the file with their transaction, so an existing version number
// implies that the tables exist.
Result<void> SqliteIndex::make() {
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY_ASSIGN(const IndexSchema now, inspect_schema(database_));
  if (now == IndexSchema::current) return {};  // another process was faster
  CUBINET_TRY(create_index_schema(database_));
  return transaction.commit();
}

// Two bytes of the header state the format: another value makes the file read-only, or requires a
// log.
Result<void> SqliteIndex::prepare_to_write() {
  if (database_.only_to_read()) return Error{ErrorCode::corruption, "the index cannot be written"};
  CUBINET_TRY_ASSIGN(const std::string mode, database_.text("PRAGMA journal_mode=DELETE"));
  if (mode != "delete") return Error{ErrorCode::busy, "the index's write-ahead log is in use"};
  return {};
}

Result<void> SqliteIndex::prepare(Mode mode) {
  const Patience patience(database_);
  CUBINET_TRY_ASSIGN(const IndexSchema schema, inspect_schema(database_));
  // Does not wait for the disk. Rows that are lost or torn by a power failure are restored from the
  // records. Seven syncs took as long as the rest of a first publish.
  if (mode != Mode::read_only) CUBINET_TRY(database_.execute("PRAGMA synchronous=OFF"));
  if (schema == IndexSchema::empty) {
    if (mode != Mode::read_write) return Error{ErrorCode::not_found, "the index is empty"};
    CUBINET_TRY(make());
  }
  if (mode != Mode::read_only) CUBINET_TRY(prepare_to_write());
  CUBINET_TRY(statements_.prepare(database_, kEntryQueries));
  return verified_.prepare(database_);
}

Result<void> SqliteIndex::check_still_ours() {
  CUBINET_TRY_ASSIGN(const IndexSchema schema, inspect_schema(database_));
  if (schema == IndexSchema::current) return {};
  return Error{ErrorCode::corruption, "the index was emptied"};
}

Result<std::vector<StoredRecord>> SqliteIndex::records() {
  sqlite::Statement& bound = statements_[read_all];
  const sqlite::Run run(bound);
  std::vector<StoredRecord> records;
  while (true) {
    CUBINET_TRY_ASSIGN(const bool row, bound.step());
    if (!row) return records;
    std::string name(bound.text(0));
    const std::int64_t published_ns = bound.integer(1);
    const ByteView encoded = bound.blob(2);
    auto record = decode_record(encoded);
    // A cell that could not be read looks empty.
    CUBINET_TRY(bound.check());
    // An entry of a newer build, whose file is skipped too.
    if (!record && record.error().code == ErrorCode::unsupported) continue;
    if (!record || entry_name(record->identity.kernel_hash(), encoded) != name) {
      return Error{ErrorCode::corruption, "a row of the index is not what its name says"};
    }
    records.push_back(
        {std::make_shared<const CubinRecord>(*std::move(record)), published_ns, std::move(name)});
  }
}

Result<void> SqliteIndex::put(const StoredRecord& stored) {
  const CubinRecord& record = *stored.record;
  const Bytes encoded = encode_record(record);
  CUBINET_TRY_ASSIGN(const KernelSpec spec, decode_kernel(record.identity.kernel_encoding()));
  const std::string target = record.target_name();
  sqlite::Statement& bound = statements_[put_row];
  const sqlite::Run run(bound);
  bound.bind(1, std::string_view(stored.name))
      .bind(2, stored.published_ns)
      .bind(3, static_cast<std::int64_t>(record.identity.key().value))
      .bind(4, to_string(spec.maker))
      .bind(5, std::string_view(spec.name))
      .bind(6, std::string_view(target))
      .bind(7, ByteView(record.fingerprint.digest.bytes))
      .bind(8, ByteView(record.digest.bytes))
      .bind(9, static_cast<std::int64_t>(record.size))
      .bind(10, ByteView(encoded));
  CUBINET_TRY(bound.step());
  return {};
}

Result<void> SqliteIndex::update(std::span<const StoredRecord> added, std::span<const std::string> gone) {
  const Patience patience(database_);
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY(check_still_ours());
  for (const StoredRecord& stored : added)
    CUBINET_TRY(put(stored));
  for (const std::string& name : gone) {
    sqlite::Statement& bound = statements_[erase_row];
    const sqlite::Run run(bound);
    CUBINET_TRY(bound.bind(1, std::string_view(name)).step());
  }
  return transaction.commit();
}

Result<void> SqliteIndex::remember(std::string_view folder, std::span<const VerifiedFile> files) {
  const Patience patience(database_);
  CUBINET_TRY_ASSIGN(auto transaction, sqlite::WriteTransaction::begin(database_));
  CUBINET_TRY(check_still_ours());
  CUBINET_TRY(verified_.put(folder, files));
  return transaction.commit();
}

Result<void> SqliteIndex::check() {
  CUBINET_TRY_ASSIGN(const std::string finding, database_.text("PRAGMA integrity_check(1)"));
  if (finding == "ok") return {};
  // SQLite reports a page that it could not read as damage.
  const bool unreadable = finding.find("error code=") != std::string::npos;
  return Error{unreadable ? ErrorCode::io : ErrorCode::corruption,
               "SQLite's check of the index says: " + finding};
}

}  // namespace

Result<std::unique_ptr<Index>> Index::open(const std::filesystem::path& file, Mode mode) {
  const auto database_mode =
      mode == Mode::read_only ? sqlite::Database::Mode::read_only : sqlite::Database::Mode::read_write;
  CUBINET_TRY_ASSIGN(auto database, sqlite::Database::open(file, database_mode));
  auto index = std::make_unique<SqliteIndex>(std::move(database));
  CUBINET_TRY(index->prepare(mode));
  return std::unique_ptr<Index>(std::move(index));
}

}  // namespace cubinet
