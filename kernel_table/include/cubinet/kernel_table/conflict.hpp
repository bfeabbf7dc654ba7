// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/kernel_row.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cubinet {

// Rows of one identity that disagree. With `kept` the others gave way to it; without, all are refused.
struct RowConflict {
  bool decided = false;
  KernelRow kept;  // where decided
  std::vector<KernelRow> refused;

  std::string to_string() const;  // names every row, its source and digest, and why
};

struct ResolvedRows {
  std::vector<KernelRow> rows;  // one an identity, in the order of their encodings
  std::vector<RowConflict> conflicts;
  std::size_t duplicates = 0;  // entries that said the same as one that is kept
  std::size_t stale = 0;       // compiled with another fingerprint while something current exists
};

// The rule for rows of one identity, target included:
//   1 a stale row (compiled with another fingerprint) gives way to any other, and is no conflict;
//   2 rows of the same bytes and launch facts are one entry;
//   3 otherwise the first of this order is kept: a current compiled row, the highest bundle version, the
//     import pinned last; where the first place is shared by different bytes, all rows are refused.
// The result depends on the set of rows only, never on their order. invalid_argument for a row out of range.
Result<ResolvedRows> resolve_conflicts(std::vector<KernelRow> rows);

}  // namespace cubinet
