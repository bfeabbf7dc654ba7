// SPDX-License-Identifier: Apache-2.0
#include "entry_table.hpp"

#include <cubinet/spec/kernel_key.hpp>

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

enum class Query : std::size_t {
  find,
  list,
  all_rows,
  totals,
  count,
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
    "SELECT key, record, published_ns FROM entries",
    "SELECT (SELECT count(*) FROM entries), count(*), coalesce(sum(size), 0) FROM (SELECT DISTINCT digest, "
    "size FROM entries)",
    "SELECT count(*) FROM entries",
    "SELECT 1 FROM entries WHERE digest = ?1 LIMIT 1",
    "SELECT record, published_ns, id FROM entries WHERE key = ?1 AND encoding = ?2 AND fingerprint = ?3",
    "INSERT INTO entries (key, published_ns, size, template, target, fingerprint, digest, encoding, record) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    "DELETE FROM entries WHERE id = ?1",
    "DELETE FROM entries",
};

std::int64_t as_integer(KernelKey key) {
  return static_cast<std::int64_t>(key.value);
}

sqlite::Statement& bind_entry(sqlite::Statement& statement, const CubinRecord& record) {
  return statement.bind(1, as_integer(record.identity.key()))
      .bind(2, ByteView(record.identity.encoding()))
      .bind(3, ByteView(record.fingerprint.digest.bytes));
}

}  // namespace

Result<void> EntryTable::prepare(sqlite::Database& database) {
  database_ = &database;
  return statements_.prepare(database, kQueries);
}

Result<EntryTable::Totals> EntryTable::totals() {
  sqlite::Statement& bound = statements_[Query::totals];
  const sqlite::Run run(bound);
  CUBINET_TRY_ASSIGN(const bool row, bound.step());
  if (!row) return Error{ErrorCode::corruption, "the index does not count its rows"};
  const auto count = [&](int column) { return static_cast<std::uint64_t>(bound.integer(column)); };
  return Totals{count(0), count(1), count(2)};
}

Result<std::uint64_t> EntryTable::count() {
  sqlite::Statement& bound = statements_[Query::count];
  const sqlite::Run run(bound);
  CUBINET_TRY(bound.step());
  return static_cast<std::uint64_t>(bound.integer(0));
}

Result<std::vector<StoredRecord>> EntryTable::read(sqlite::Statement& bound) {
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

Result<std::vector<StoredRecord>> EntryTable::find(const KernelIdentity& identity) {
  sqlite::Statement& bound = statements_[Query::find];
  bound.bind(1, as_integer(identity.key())).bind(2, ByteView(identity.encoding()));
  CUBINET_TRY_ASSIGN(auto found, read(bound));
  for (const StoredRecord& record : found) {
    if (!(record.record->identity == identity)) {
      return Error{ErrorCode::corruption, "a row of the index holds the record of another kernel"};
    }
  }
  return found;
}

Result<std::vector<StoredRecord>> EntryTable::list() {
  return read(statements_[Query::list]);
}

Result<bool> EntryTable::names_image(const Sha256Digest& digest) {
  sqlite::Statement& bound = statements_[Query::names_image];
  const sqlite::Run run(bound);
  return bound.bind(1, ByteView(digest.bytes)).step();
}

Result<void> EntryTable::for_each(const Visit& visit) {
  sqlite::Statement& bound = statements_[Query::all_rows];
  const sqlite::Run run(bound);
  while (true) {
    CUBINET_TRY_ASSIGN(const bool row, bound.step());
    if (!row) return {};
    visit(KernelKey{static_cast<std::uint64_t>(bound.integer(0))}, bound.blob(1), bound.integer(2));
  }
}

Result<bool> EntryTable::holds(const StoredRecord& stored, const Bytes& encoded) {
  sqlite::Statement& bound = statements_[Query::find_row];
  const sqlite::Run run(bound);
  CUBINET_TRY_ASSIGN(const bool row, bind_entry(bound, *stored.record).step());
  if (!row) return false;
  const ByteView there = bound.blob(0);
  return bound.integer(1) == stored.published_ns &&
         std::equal(there.begin(), there.end(), encoded.begin(), encoded.end());
}

Result<std::optional<std::int64_t>> EntryTable::id_of(const CubinRecord& record) {
  sqlite::Statement& bound = statements_[Query::find_row];
  const sqlite::Run run(bound);
  CUBINET_TRY_ASSIGN(const bool row, bind_entry(bound, record).step());
  if (!row) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(bound.integer(2));
}

Result<std::int64_t> EntryTable::insert(const StoredRecord& stored, const Bytes& encoded) {
  const CubinRecord& record = *stored.record;
  CUBINET_TRY_ASSIGN(const DecodedIdentity decoded, decode_identity(record.identity.encoding()));
  const std::string target = record.target.to_string();
  sqlite::Statement& bound = statements_[Query::insert];
  const sqlite::Run run(bound);
  bound.bind(1, as_integer(record.identity.key()))
      .bind(2, stored.published_ns)
      .bind(3, static_cast<std::int64_t>(record.size))
      .bind(4, std::string_view(decoded.spec.name))
      .bind(5, std::string_view(target))
      .bind(6, ByteView(record.fingerprint.digest.bytes))
      .bind(7, ByteView(record.digest.bytes))
      .bind(8, ByteView(record.identity.encoding()))
      .bind(9, ByteView(encoded));
  CUBINET_TRY(bound.step());
  return database_->last_id();
}

Result<void> EntryTable::erase(std::int64_t id) {
  sqlite::Statement& bound = statements_[Query::erase];
  const sqlite::Run run(bound);
  CUBINET_TRY(bound.bind(1, id).step());
  return {};
}

Result<void> EntryTable::clear() {
  sqlite::Statement& bound = statements_[Query::clear];
  const sqlite::Run run(bound);
  CUBINET_TRY(bound.step());
  return {};
}

}  // namespace cubinet
