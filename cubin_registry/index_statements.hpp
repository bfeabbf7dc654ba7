// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sqlite.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace cubinet {

// The prepared statements of one table of the index, by number. Prepared when the table is there.
class IndexStatements {
 public:
  Result<void> prepare(sqlite::Database& database, std::span<const std::string_view> queries) {
    statements_.clear();
    for (const std::string_view sql : queries) {
      CUBINET_TRY_ASSIGN(auto prepared, database.prepare(sql));
      statements_.push_back(std::move(prepared));
    }
    return {};
  }
  template <class Query>
  sqlite::Statement& operator[](Query query) {
    return statements_[static_cast<std::size_t>(query)];
  }
  // In a forked child, in which finalizing is as forbidden as closing is.
  void abandon() { static_cast<void>(new std::vector<sqlite::Statement>(std::move(statements_))); }

 private:
  std::vector<sqlite::Statement> statements_;
};

}  // namespace cubinet
