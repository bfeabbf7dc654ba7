// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/kernel_table/plain_kernel.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A row that could not be taken. The others are.
struct MetadataProblem {
  std::size_t line = 0;
  std::string reason;
};

// A published metadata header, read.
struct MetadataHeader {
  std::vector<std::string> columns;  // as the header's own struct declares them; empty for GEMM headers
  std::vector<KernelRow> rows;
  std::vector<PlainKernel> plain;  // of GEMM-style headers
  std::size_t problem_count = 0;
  std::vector<MetadataProblem> problems;  // the first kMaximumListedProblems
};

inline constexpr std::size_t kMaximumListedProblems = 100;

// Reads `flashInferMetaInfo.h` and its like. Column names and their order come from the struct that the
// header declares for the array's element type; columns that are not known are kept in KernelRow::extras,
// columns that are missing have the defaults that column.hpp states. `kSM_100f` is a family target; `kSM_100`
// and `kSM_103` are specific ones, as every kSM_<n> of which a specific target exists.
//
// Every row's implementation is kPublishedImplementation. Two facts stand only in names. A row of page 128
// whose name has no P128 takes any page (dynamic_page). A header in which a mode of 2 goes with the name part
// MultiCtasKvCga numbers the modes as before September 2025: its 2 becomes cga.
//
// mMaxNumHeadsQPerKvInCta, which headers had until 2025, repeats what tile and kernel type say (the rows of a
// generation kernel's tile, 1 for context): it is dropped where it does and kept in extras where it does not.
//
// Any bytes give a header or an error: corruption where the text ends inside something, unsupported where
// the struct lacks a column that has no default, invalid_argument where no kernel is found. A row that does
// not fit (count of values, a value, a range) is a problem with its line.
Result<MetadataHeader> read_metadata_header(std::string_view text);

// The target that kSM_<text> or a number (10100 for 100f) names.
Result<SmTarget> target_of_metadata(std::string_view text);

}  // namespace cubinet
