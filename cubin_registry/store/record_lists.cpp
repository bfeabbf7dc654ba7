// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/record_lists.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace cubinet {

void sort_records(CubinRecords& records) {
  struct Named {
    KernelMaker maker;
    std::string name;
    std::shared_ptr<const CubinRecord> record;
  };
  std::vector<Named> named;
  named.reserve(records.size());
  for (auto& record : records) {
    auto decoded = decode_kernel(record->identity.kernel_encoding());
    Named& added = named.emplace_back();
    if (decoded) {
      added.maker = decoded->maker;
      added.name = std::move(decoded->name);
    }
    added.record = std::move(record);
  }
  std::stable_sort(named.begin(), named.end(), [](const Named& a, const Named& b) {
    const auto order = [](const Named& each) {
      return std::make_tuple(each.maker, std::string_view(each.name), each.record->identity.key());
    };
    if (order(a) != order(b)) return order(a) < order(b);
    return a.record->fingerprint < b.record->fingerprint;
  });
  for (std::size_t i = 0; i < named.size(); ++i)
    records[i] = std::move(named[i].record);
}

CubinRecords with_key(const CubinRecords& records, KernelKey key) {
  CubinRecords found;
  std::copy_if(records.begin(), records.end(), std::back_inserter(found),
               [&](const auto& record) { return record->identity.key() == key; });
  return found;
}

bool answers_to(const CubinRecord& record, std::string_view name) {
  const bool of_source = record.identity.kernel().maker() == KernelMaker::source;
  const bool has_function = std::any_of(
      record.entry_points.begin(), record.entry_points.end(),
      [&](const EntryPoint& entry) { return entry.symbol == name || (of_source && entry.name == name); });
  // Only records that contain the name are decoded.
  if (has_function || as_text(record.identity.encoding()).find(name) == std::string_view::npos)
    return has_function;
  const auto decoded = decode_kernel(record.identity.kernel_encoding());
  return decoded && decoded->maker == KernelMaker::function && decoded->name == name;
}

CubinRecords with_function(const CubinRecords& records, std::string_view name) {
  CubinRecords found;
  std::copy_if(records.begin(), records.end(), std::back_inserter(found),
               [&](const auto& record) { return answers_to(*record, name); });
  return found;
}

}  // namespace cubinet
