// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace cubinet {

// A row of the kernel table and its build. Neither is null. Both are shared with their store.
struct StoredRow {
  std::shared_ptr<const KernelRow> row;
  std::shared_ptr<const CubinRecord> record;
};
using StoredRows = std::vector<StoredRow>;

// The attention kernels of a store: their rows in the kernel table, and measurements on devices.
// A store implements it beside Store if it has either. Thread-safe. After a fork it behaves like
// the store.
class RowTable {
 public:
  virtual ~RowTable() = default;

  // Returns the row (KernelRow, its entry in the kernel table) of every build of an attention
  // kernel: machine code whose template declares a row, and published kernels. Returns the same
  // object while nothing changes.
  virtual Result<std::shared_ptr<const StoredRows>> rows() = 0;
  // Returns a number that grows when rows or measurements are added or removed through this object.
  // Reads no file and contacts no server. Changes by other processes do not count. Default: 0.
  virtual std::uint64_t changes() const { return 0; }
  // Returns the measurements on devices for planning. Empty by default.
  virtual Result<TuningTable> tuning() { return TuningTable(); }
  // Returns the measurements for export or display. An entry that tuning() skips is an error here.
  virtual Result<TuningTable> checked_tuning() { return tuning(); }
  // Merges measurements with the existing ones. Concurrent additions are not lost. Returns
  // unsupported if the store keeps no measurements, which is the default, and invalid_argument,
  // without writing, for a row that could not be read back.
  virtual Result<void> add_tuning(const TuningTable& table);
};

// Returns the row table of a store, which lives as long as the store, or null if it has none.
RowTable* row_table_of(Store& store);

}  // namespace cubinet
