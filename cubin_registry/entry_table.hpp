// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_store.hpp"
#include "index_statements.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace cubinet {

// The table `entries` of an index: one row a record file. Not thread-safe. Whoever changes it holds the write
// transaction.
class EntryTable {
 public:
  Result<void> prepare(sqlite::Database& database);
  void abandon() { statements_.abandon(); }

  struct Totals {
    std::uint64_t entries = 0;
    std::uint64_t cubins = 0;
    std::uint64_t cubin_bytes = 0;
  };
  Result<Totals> totals();
  Result<std::uint64_t> count();
  // In no order. corruption when a row is not what its checksum says, or of another kernel.
  Result<std::vector<StoredRecord>> find(const KernelIdentity& identity);
  Result<std::vector<StoredRecord>> list();
  Result<bool> names_image(const Sha256Digest& digest);
  using Visit = std::function<void(KernelKey key, ByteView record, std::int64_t published_ns)>;
  Result<void> for_each(const Visit& visit);

  // The row is there, as it would be written.
  Result<bool> holds(const StoredRecord& record, const Bytes& encoded);
  // The id of the entry's row, where there is one.
  Result<std::optional<std::int64_t>> id_of(const CubinRecord& record);
  Result<std::int64_t> insert(const StoredRecord& record, const Bytes& encoded);
  Result<void> erase(std::int64_t id);
  Result<void> clear();

 private:
  Result<std::vector<StoredRecord>> read(sqlite::Statement& bound);

  sqlite::Database* database_ = nullptr;
  IndexStatements statements_;
};

}  // namespace cubinet
