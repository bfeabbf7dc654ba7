// SPDX-License-Identifier: Apache-2.0
#include "index_snapshot.hpp"

namespace cubinet {
namespace {

// Below a millisecond, which is what opening the index costs anyhow.
constexpr std::uint64_t kSmall = 1'024;
// Reading a row takes a sixteenth of the time of a query.
constexpr std::uint64_t kRowsPerQuery = 16;

}  // namespace

bool IndexSnapshot::worth_reading(std::uint64_t version, std::uint64_t rows) {
  const bool first = asked_ == 0;
  if (asked_version_ != version) asked_ = 0;
  asked_version_ = version;
  ++asked_;
  return (first && rows <= kSmall) || asked_ * kRowsPerQuery >= rows;
}

void IndexSnapshot::begin(std::uint64_t version) {
  rows_.clear();
  version_ = version;
}

void IndexSnapshot::add(KernelKey key, ByteView encoded_record, std::int64_t published_ns) {
  rows_.emplace(key.value, Row{Bytes(encoded_record.begin(), encoded_record.end()), {nullptr, published_ns}});
}

Result<std::vector<StoredRecord>> IndexSnapshot::find(const KernelIdentity& identity) {
  std::vector<StoredRecord> found;
  const auto [begin, end] = rows_.equal_range(identity.key().value);
  for (auto position = begin; position != end; ++position) {
    Row& row = position->second;
    if (row.decoded.record == nullptr) {
      CUBINET_TRY_ASSIGN(CubinRecord record, decode_record(row.encoded));
      row.decoded.record = std::make_shared<const CubinRecord>(std::move(record));
      row.encoded = Bytes();
    }
    if (row.decoded.record->identity == identity) found.push_back(row.decoded);
  }
  sort_newest_first(found);
  return found;
}

}  // namespace cubinet
