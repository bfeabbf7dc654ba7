// SPDX-License-Identifier: Apache-2.0
#include "store/record_row.hpp"

#include <cubinet/kernel_table/row_codec.hpp>

#include <utility>

namespace cubinet {

std::shared_ptr<const KernelRow> row_of(const CubinRecord& record, std::string source) {
  if (record.row.empty() || record.kind != ImageKind::cubin || record.entry_points.empty()) return nullptr;
  auto decoded = decode_row(record.row);
  if (!decoded) return nullptr;
  const EntryPoint& entry = record.entry_points.front();
  auto row = std::make_shared<KernelRow>(*std::move(decoded));
  row->target = record.target;
  row->function_name = entry.symbol;
  row->shared_bytes = entry.dynamic_shared_bytes;
  row->threads = entry.threads;
  row->digest = record.digest;
  row->version = record.version;
  row->source = std::move(source);
  if (!check_ranges(*row)) return nullptr;
  return row;
}

}  // namespace cubinet
