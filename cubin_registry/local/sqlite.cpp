// SPDX-License-Identifier: Apache-2.0
#include "local/sqlite.hpp"

#include <cerrno>

namespace cubinet::sqlite {
namespace {

Error error_of(sqlite3* connection, int status) {
  std::string message = "SQLite: ";
  message += connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(status);
  switch (status & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    // the statement does not match the schema, while ours match the schema that we write
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
      return Error{ErrorCode::corruption, std::move(message), {}, {}, 0};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Error{ErrorCode::busy, std::move(message), {}, {}, 0};
    // opened read-only, while the transaction of a dead writer must be rolled back first
    case SQLITE_READONLY:
      return Error{ErrorCode::unavailable,
                   std::move(message),
                   "open the registry to write: what a process left unfinished is finished then",
                   {},
                   0};
    case SQLITE_NOMEM:
      return Error{ErrorCode::io, std::move(message), {}, {}, ENOMEM};
    case SQLITE_FULL:
      return Error{ErrorCode::io, std::move(message), "free some space", {}, ENOSPC};
    default:
      return Error{ErrorCode::io,
                   std::move(message),
                   {},
                   {},
                   connection != nullptr ? sqlite3_system_errno(connection) : 0};
  }
}

Error error_of(sqlite3* connection) {
  return error_of(connection, sqlite3_extended_errcode(connection));
}

}  // namespace

Statement& Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}

Statement& Statement::bind(int parameter, ByteView blob) {
  // A null pointer would bind NULL, which no comparison finds.
  static constexpr std::byte kNothing{};
  const void* data = blob.empty() ? &kNothing : blob.data();
  sqlite3_bind_blob64(statement_.get(), parameter, data, blob.size(), SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view text) {
  const char* data = text.empty() ? "" : text.data();
  sqlite3_bind_text64(statement_.get(), parameter, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Result<bool> Statement::step() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  return error_of(sqlite3_db_handle(statement_.get()), status);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

ByteView Statement::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  if (data == nullptr) return {};
  return {static_cast<const std::byte*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view Statement::text(int column) const {
  return as_text(blob(column));
}

Result<void> Statement::check() const {
  sqlite3* const connection = sqlite3_db_handle(statement_.get());
  const int status = sqlite3_extended_errcode(connection);
  if (status == SQLITE_OK || status == SQLITE_ROW || status == SQLITE_DONE) return {};
  return error_of(connection, status);
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

Result<Database> Database::open(const std::filesystem::path& file, Mode mode) {
  // NOMUTEX: the connection's owner locks. A library without thread support cannot be used.
  if (sqlite3_threadsafe() == 0) {
    return Error{ErrorCode::unsupported, "this SQLite is built without thread support",
                 "use another libsqlite3"};
  }
  const int flags =
      (mode == Mode::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) |
      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  sqlite3* connection = nullptr;
  const int status = sqlite3_open_v2(file.c_str(), &connection, flags, nullptr);
  Database database(connection);
  if (status != SQLITE_OK) return error_of(connection, status);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // Mapped pages would turn an I/O error into a signal.
  CUBINET_TRY(database.execute("PRAGMA mmap_size=0; PRAGMA cell_size_check=ON"));
  return database;
}

Result<void> Database::execute(const char* sql) {
  if (sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return error_of(connection_.get());
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return error_of(connection_.get());
  }
  return Statement(statement);
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  CUBINET_TRY_ASSIGN(Statement statement, prepare(sql));
  CUBINET_TRY_ASSIGN(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

Result<std::string> Database::text(std::string_view sql) {
  CUBINET_TRY_ASSIGN(Statement statement, prepare(sql));
  CUBINET_TRY_ASSIGN(const bool row, statement.step());
  return row ? std::string(statement.text(0)) : std::string();
}

void Database::set_time_limit(std::chrono::milliseconds limit) {
  sqlite3_busy_timeout(connection_.get(), static_cast<int>(limit.count()));
}

bool Database::only_to_read() const {
  return sqlite3_db_readonly(connection_.get(), "main") != 0;
}

bool Database::moved() const {
  int moved = 0;
  const int status = sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return status != SQLITE_OK || moved != 0;
}

Result<WriteTransaction> WriteTransaction::begin(Database& database) {
  CUBINET_TRY(database.execute("BEGIN IMMEDIATE"));
  return WriteTransaction(database);
}

WriteTransaction::~WriteTransaction() {
  // After an error that rolled back automatically, this fails without effect.
  if (database_ != nullptr) static_cast<void>(database_->execute("ROLLBACK"));
}

Result<void> WriteTransaction::commit() {
  CUBINET_TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

Result<void> Statements::prepare(Database& database, std::span<const std::string_view> queries) {
  statements_.clear();
  for (const std::string_view sql : queries) {
    CUBINET_TRY_ASSIGN(auto prepared, database.prepare(sql));
    statements_.push_back(std::move(prepared));
  }
  return {};
}

}  // namespace cubinet::sqlite
