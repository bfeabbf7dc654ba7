// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index_statements.hpp"

#include <cubinet/kernel_table/kernel_row.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The table `kernels` of an index: a row a kernel, a column a field, so that any program can read it. Each
// row has a checksum of its own: a database that is damaged where SQLite does not notice hides kernels, and
// never tells a lie about one. Not thread-safe. Whoever changes it holds the write transaction.
class KernelRowTable {
 public:
  Result<void> prepare(sqlite::Database& database);
  void abandon() { statements_.abandon(); }

  // The rows of all entries and imports. `sources` names imports, by number. corruption for a row that is not
  // what was written.
  Result<std::vector<KernelRow>> read(const std::map<std::uint64_t, std::string>& sources);

  Result<void> insert_of_entry(std::int64_t entry, const KernelRow& row);
  Result<void> insert_of_import(std::uint64_t import, const KernelRow& row);
  Result<void> erase_entry(std::int64_t entry);
  Result<void> erase_import(std::uint64_t import);
  Result<void> clear();

 private:
  enum class Owner { entry, import };
  Result<void> insert(Owner owner, std::int64_t id, const KernelRow& row);
  Result<void> erase(std::size_t query, std::int64_t id);

  IndexStatements statements_;
};

}  // namespace cubinet
