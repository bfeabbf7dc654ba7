// SPDX-License-Identifier: Apache-2.0
#include "local/siblings.hpp"

#include "store/same_build.hpp"

#include <algorithm>
#include <tuple>

namespace cubinet {
namespace {

bool comes_before(const CubinRecord& a, const CubinRecord& b) {
  if (supersedes(a, b) != supersedes(b, a)) return supersedes(a, b);
  return a.digest < b.digest;
}

}  // namespace

Result<void> for_each_build(std::vector<StoredRecord>& stored,
                            const std::function<Result<void>(Siblings)>& visit) {
  std::sort(stored.begin(), stored.end(), [](const StoredRecord& a, const StoredRecord& b) {
    const auto build = [](const CubinRecord& record) {
      return std::tie(record.identity.encoding(), record.kind, record.fingerprint);
    };
    if (build(*a.record) != build(*b.record)) return build(*a.record) < build(*b.record);
    return comes_before(*a.record, *b.record);
  });
  for (auto first = stored.begin(); first != stored.end();) {
    const auto end = std::find_if_not(first, stored.end(), [&](const StoredRecord& other) {
      return is_same_build(*first->record, *other.record);
    });
    CUBINET_TRY(visit(Siblings(first, end)));
    first = end;
  }
  return {};
}

std::size_t place_in_force(const FileStore& store, Siblings siblings) {
  if (siblings.size() == 1) return 0;
  const auto good = std::find_if(siblings.begin(), siblings.end(), [&](const StoredRecord& stored) {
    return store.read_image(stored.record->digest, stored.record->size).has_value();
  });
  return good == siblings.end() ? 0 : static_cast<std::size_t>(good - siblings.begin());
}

std::vector<StoredRecord> in_force(const FileStore& store, std::vector<StoredRecord> stored) {
  if (stored.size() < 2) return stored;
  std::vector<StoredRecord> counting;
  counting.reserve(stored.size());
  static_cast<void>(for_each_build(stored, [&](Siblings siblings) -> Result<void> {
    counting.push_back(siblings[place_in_force(store, siblings)]);
    return {};
  }));
  return counting;
}

}  // namespace cubinet
