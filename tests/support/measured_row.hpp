// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/tuning_table.hpp>

#include <cstdint>

namespace cubinet::test {

// Returns a row as a tuner would write it, of an invented problem.
inline TuningTable::Row measured_row(std::uint32_t batch, std::int64_t measured = 1'800'000'000) {
  TuningTable::Row row;
  row.problem = "decode(heads_q=64)";
  row.batch = batch;
  row.kv_len = 8192;
  row.device = "NVIDIA H200, 9.0, 132 multiprocessors";
  row.driver = 13'000;
  row.version = "interface 4, text 0123456789abcdef";
  row.backend = "templates";
  row.kernel = KernelSpec{"attention_decode", {}};
  row.kernel.set("tile_size_q", 16).set("stages", 4);
  row.splits = 3;
  row.microseconds = 41.5;
  row.modelled_microseconds = 44.25;
  row.candidates = 17;
  row.measured = measured;
  return row;
}

inline TuningTable table_of(const TuningTable::Row& row) {
  TuningTable table;
  table.add(row);
  return table;
}

}  // namespace cubinet::test
