// SPDX-License-Identifier: Apache-2.0
#include "store/record_row.hpp"

#include <cubinet/kernel_table/row_codec.hpp>

namespace cubinet {

std::optional<KernelRow> row_of(const CubinRecord& record) {
  if (record.row.empty() || record.kind != ImageKind::cubin || record.entry_points.empty())
    return std::nullopt;
  auto decoded = decode_row(record.row);
  if (!decoded) return std::nullopt;
  const EntryPoint& entry = record.entry_points.front();
  KernelRow row = *std::move(decoded);
  row.target = record.target;
  row.function_name = entry.symbol;
  row.shared_bytes = entry.dynamic_shared_bytes;
  row.threads = entry.threads;
  row.digest = record.digest;
  row.version = record.version;
  if (!check_ranges(row)) return std::nullopt;
  return row;
}

}  // namespace cubinet
