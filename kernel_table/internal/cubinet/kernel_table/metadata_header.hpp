// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/kernel_table/plain_kernel.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A row that could not be read. The other rows are kept.
struct MetadataProblem {
  std::size_t line = 0;
  std::string reason;
};

// The content of a published metadata header.
struct MetadataHeader {
  // The columns that the header's own struct declares. Empty for GEMM headers.
  std::vector<std::string> columns;
  std::vector<KernelRow> rows;
  std::vector<PlainKernel> plain;  // from GEMM-style headers
  std::size_t problem_count = 0;
  std::vector<MetadataProblem> problems;  // the first kMaximumListedProblems
};

inline constexpr std::size_t kMaximumListedProblems = 100;

// Reads `flashInferMetaInfo.h` and similar headers. The struct that the header declares for the
// array's element type determines column names and their order. Unknown columns are stored in
// KernelRow::extras. Missing columns have the defaults that column.hpp states. `kSM_100f` is a
// family target. `kSM_100`, `kSM_103` and every other kSM_<n> for which a specific target exists
// are specific targets.
//
// Every row's implementation is kPublishedImplementation. Two facts are stated only by function
// names. A row of page 128 whose name has no P128 accepts any page size (dynamic_page). A header in
// which mode 2 occurs together with the name part MultiCtasKvCga uses the mode numbers from before
// September 2025, so its 2 becomes cga.
//
// mMaxNumHeadsQPerKvInCta, which headers had until 2025, normally repeats what tile and kernel type
// imply (the rows of a generation kernel's tile, 1 for context). It is dropped if it does, and kept
// in extras if it does not.
//
// Any bytes give a header or an error: corruption for truncated text, unsupported if the struct
// lacks a column that has no default, invalid_argument if no kernel is found. An invalid row
// (number of values, a value, a range) is recorded as a problem with its line.
Result<MetadataHeader> read_metadata_header(std::string_view text);

// Returns the target named by kSM_<text> or by a number (10100 for 100f).
Result<SmTarget> target_of_metadata(std::string_view text);

}  // namespace cubinet
