// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/benchmark.hpp>

namespace cubinet::test {

// Returns a row with three rounds, whose median is 2 ms.
inline BenchmarkRow measured_row() {
  BenchmarkRow row;
  row.given.tag = "a \"name\", with a comma";
  row.given.problem.heads_q = 8;
  row.given.problem.kv_len = 1000;
  row.mean_kv_length = 1000;
  row.requested = "auto";
  row.backend = "templates";
  row.operations = 4e9;
  row.kv_bytes = 2e9;
  row.bytes = 3e9;
  row.accuracy.correct = true;
  row.splits = 3;
  row.seconds = {1e-3, 4e-3, 2e-3};
  row.read_seconds = {1e-3, 1e-3, 3e-3};
  return row;
}

}  // namespace cubinet::test
