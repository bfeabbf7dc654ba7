// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/operation.hpp>
#include <cubinet/kernel_explanation.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// Builds an index of one implementation's rows, so that near misses are searched only among them.
std::shared_ptr<const KernelIndex> index_of(KernelRows rows, ComputeCapability device,
                                            KernelRows unusable = {}) {
  return std::make_shared<const KernelIndex>(
      KernelIndex::build(std::move(rows), device, std::move(unusable)));
}

// Returns whether the row is excluded only because it is PTX: its target would run.
bool is_ptx_alone(const StoredRow& stored, ComputeCapability device) {
  return stored.record != nullptr && stored.record->kind == ImageKind::ptx &&
         runs_on(stored.row->target, device);
}

}  // namespace

AvailableKernels AvailableKernels::create(const DeviceRows& found, ComputeCapability device,
                                          std::string_view device_name) {
  // The rows that one pin lists. The table that contains the row pinned last comes first.
  struct Table {
    std::uint64_t version = 0;
    KernelRows rows;
    KernelRows unusable;
  };
  std::map<std::string, std::map<std::string, Table>> divided;
  const auto table_of = [&](const StoredRow& stored) -> Table& {
    Table& table = divided[stored.row->implementation][stored.row->pin];
    table.version = std::max(table.version, stored.row->version);
    return table;
  };
  for (const StoredRow& stored : found.rows)
    table_of(stored).rows.push_back(stored.row);
  for (const StoredRow& stored : found.elsewhere)
    if (!is_ptx_alone(stored, device)) table_of(stored).unusable.push_back(stored.row);
  AvailableKernels kernels;
  kernels.device_ = device;
  if (!device_name.empty()) kernels.use_tuning(found.tuning, device_name);
  for (auto& [implementation, by_pin] : divided) {
    std::vector<Table> own;
    for (auto& [pin, table] : by_pin)
      own.push_back(std::move(table));
    std::stable_sort(own.begin(), own.end(),
                     [](const Table& a, const Table& b) { return a.version > b.version; });
    auto& tables = kernels.by_implementation_[implementation];
    for (Table& table : own)
      tables.push_back(index_of(std::move(table.rows), device, std::move(table.unusable)));
  }
  return kernels;
}

void AvailableKernels::use_tuning(TuningTable tuning, std::string_view device_name) {
  tuning_ = std::make_shared<const TuningTable>(std::move(tuning));
  device_name_ = device_name;
}

std::span<const std::shared_ptr<const KernelIndex>> AvailableKernels::tables(
    std::string_view implementation) const {
  static const std::vector<std::shared_ptr<const KernelIndex>> kNone = {index_of({}, {})};
  const auto found = by_implementation_.find(implementation);
  return found == by_implementation_.end() ? kNone : found->second;
}

}  // namespace cubinet
