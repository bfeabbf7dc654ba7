// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/sqlite.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace cubinet {

// The table `verified_files` of an index: a cache that may be lost with the database and that
// nothing is derived from. Each row has a checksum, and a row with a wrong one is ignored. Not
// thread-safe. Changes require the write transaction.
class VerifiedTable {
 public:
  Result<void> prepare(sqlite::Database& database);
  void abandon() { statements_.abandon(); }

  Result<std::vector<VerifiedFile>> list(std::string_view folder);  // ascending by name
  Result<void> put(std::string_view folder, std::span<const VerifiedFile> files);

 private:
  sqlite::Statements statements_;
};

}  // namespace cubinet
