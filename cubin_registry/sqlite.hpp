// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace cubinet::sqlite {

// A prepared statement and one run of it. Not thread-safe; must not outlive its Database.
class Statement {
 public:
  // Parameters count from 1. Blobs and texts are not copied: they must live until the run ends.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, ByteView blob);
  Statement& bind(int parameter, std::string_view text);

  // True while there is a row.
  Result<bool> step();
  std::int64_t integer(int column) const;
  // Valid until the next step or the end of the run.
  ByteView blob(int column) const;
  std::string_view text(int column) const;

  // Ends a run, which releases SQLite's lock on the file.
  void reset();

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Ends a statement's run at the end of a scope.
class Run {
 public:
  explicit Run(Statement& statement) : statement_(statement) {}
  ~Run() { statement_.reset(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

 private:
  Statement& statement_;
};

// A connection, set up for a file that may hold anything: no memory mapping, no trust in its schema. Not
// thread-safe. Errors: corruption (damaged, or no database), busy (locked for longer than the time limit),
// unavailable (nothing can be written here), unsupported, io.
class Database {
 public:
  enum class Mode { read_write, read_only };
  static Result<Database> open(const std::filesystem::path& file, Mode mode);

  Result<void> execute(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  // The first column of the first row; 0 where there is none.
  Result<std::int64_t> integer(std::string_view sql);
  Result<std::string> text(std::string_view sql);

  void set_time_limit(std::chrono::milliseconds limit);
  // Of the row that was inserted last.
  std::int64_t last_id() const;
  // The count of commits in the file's header, read without a lock. Does not change where there is a
  // write-ahead log.
  Result<std::uint64_t> change_counter() const;
  // The file that was opened no longer has its name: somebody put another one in its place.
  bool moved() const;
  // Gives up the connection without closing it. For a forked child, in which closing would end the parent's
  // locks.
  void abandon() { static_cast<void>(connection_.release()); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  explicit Database(sqlite3* connection) : connection_(connection) {}

  std::unique_ptr<sqlite3, Close> connection_;
};

// A transaction that takes the write lock at once, so that it cannot fail half-way for want of it. Rolled
// back by destruction unless it was committed.
class WriteTransaction {
 public:
  static Result<WriteTransaction> begin(Database& database);
  ~WriteTransaction();
  WriteTransaction(WriteTransaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  WriteTransaction& operator=(WriteTransaction&&) = delete;
  Result<void> commit();

 private:
  explicit WriteTransaction(Database& database) : database_(&database) {}
  Database* database_;
};

// Several statements see one state of the database, whoever commits meanwhile. Ends with its scope.
class ReadTransaction {
 public:
  static Result<ReadTransaction> begin(Database& database);
  ~ReadTransaction();
  ReadTransaction(ReadTransaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  ReadTransaction& operator=(ReadTransaction&&) = delete;

 private:
  explicit ReadTransaction(Database& database) : database_(&database) {}
  Database* database_;
};

// SQLite 3.7.0 to 3.51.2 can lose committed pages of a write-ahead log when a write meets a checkpoint
// (sqlite.org/wal.html); fixed in 3.51.3 and in the backports 3.50.7 and 3.44.6. `version` is
// sqlite3_libversion_number().
constexpr bool write_ahead_log_is_sound(int version) {
  return version >= 3'051'003 || (version >= 3'050'007 && version < 3'051'000) ||
         (version >= 3'044'006 && version < 3'045'000);
}

}  // namespace cubinet::sqlite
