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

  // The error behind a value that was read as an empty one: SQLite has no other way to say that memory or the
  // disk failed it.
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
  // Opened to write, and yet it cannot be: known once something was read.
  bool only_to_read() const;
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

// Prepared statements by number.
class Statements {
 public:
  Result<void> prepare(Database& database, std::span<const std::string_view> queries);
  template <class Query>
  Statement& operator[](Query query) {
    return statements_[static_cast<std::size_t>(query)];
  }
  // In a forked child, in which finalizing is as forbidden as closing is.
  void abandon() { static_cast<void>(new std::vector<Statement>(std::move(statements_))); }

 private:
  std::vector<Statement> statements_;
};

}  // namespace cubinet::sqlite
