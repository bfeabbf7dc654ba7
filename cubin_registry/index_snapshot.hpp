// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_store.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace cubinet {

// The rows of the index as they were at one version of it, in memory: a look-up costs one comparison of
// versions instead of SQLite's dozen system calls (measured: 2 and 11 us). Rows are decoded when they are
// asked for. Not thread-safe.
class IndexSnapshot {
 public:
  // What reading all rows costs (0.7 us a row) is paid back by the look-ups that follow. So it is read at
  // once while it is small, and otherwise when as many look-ups have asked the same version as would have
  // paid for it.
  bool worth_reading(std::uint64_t version, std::uint64_t rows);

  void begin(std::uint64_t version);
  void add(KernelKey key, ByteView encoded_record, std::int64_t published_ns);

  bool is_of(std::uint64_t version) const { return version_ == version; }
  void forget() { version_.reset(); }
  // Newest first. corruption when a row is not what its checksum says.
  Result<std::vector<StoredRecord>> find(const KernelIdentity& identity);

 private:
  struct Row {
    Bytes encoded;
    StoredRecord decoded;  // record: null until it was asked for
  };

  std::unordered_multimap<std::uint64_t, Row> rows_;
  std::optional<std::uint64_t> version_;
  std::uint64_t asked_version_ = 0;
  std::uint64_t asked_ = 0;
};

}  // namespace cubinet
