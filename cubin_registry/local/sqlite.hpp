// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cubinet::sqlite {

// A prepared statement and one run of it. Not thread-safe; must not outlive its Database.
class Statement {
 public:
  // Bind parameters, which count from 1. Blobs and texts are not copied and must live until the run
  // ends.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, ByteView blob);
  Statement& bind(int parameter, std::string_view text);

  // Returns true while there is a row.
  Result<bool> step();
  std::int64_t integer(int column) const;
  // Valid until the next step or the end of the run.
  ByteView blob(int column) const;
  std::string_view text(int column) const;

  // Returns the error behind a value that was read as empty. SQLite reports a failure of memory or
  // disk in no other way.
  Result<void> check() const;

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

// A connection for a file with untrusted content: no memory mapping, no trust in its schema. Not
// thread-safe. Errors: corruption (damaged, or not a database), busy (locked for longer than the
// time limit), unavailable (not writable), unsupported, io.
class Database {
 public:
  enum class Mode { read_write, read_only };
  static Result<Database> open(const std::filesystem::path& file, Mode mode);

  Result<void> execute(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  // Return the first column of the first row. 0 or empty if there is none.
  Result<std::int64_t> integer(std::string_view sql);
  Result<std::string> text(std::string_view sql);

  void set_time_limit(std::chrono::milliseconds limit);
  // Returns whether it was opened for writing and is read-only. Known after the first read.
  bool only_to_read() const;
  // Returns whether the opened file no longer has its name because another file replaced it.
  bool moved() const;
  // Drops the connection without closing it. In a forked child, closing would release the parent's
  // locks.
  void abandon() { static_cast<void>(connection_.release()); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  explicit Database(sqlite3* connection) : connection_(connection) {}

  std::unique_ptr<sqlite3, Close> connection_;
};

// A transaction that takes the write lock at its beginning, so that it cannot fail later for lack
// of it. The destructor rolls back unless it was committed.
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

// Prepared statements by number.
class Statements {
 public:
  Result<void> prepare(Database& database, std::span<const std::string_view> queries);
  template <class Query>
  Statement& operator[](Query query) {
    return statements_[static_cast<std::size_t>(query)];
  }
  // Drops the statements in a forked child, where finalizing is forbidden too.
  void abandon() { static_cast<void>(new std::vector<Statement>(std::move(statements_))); }

 private:
  std::vector<Statement> statements_;
};

}  // namespace cubinet::sqlite
