// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sqlite.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cubinet {

inline constexpr std::int64_t kIndexApplicationId = 0x43424e54;  // "CBNT"
// Version history: 2 (2026-11) the table of kernels, imports, what was verified; 1 (2026-11) the first.
// docs/formats/registry.md
inline constexpr std::int64_t kIndexSchemaVersion = 2;

// A column of the table of kernels that is none of kernel_columns(). Kinds are those of stored tables
// (table_codec.hpp), and 7 for extra columns: a blob of u32 count { <string> name <string> value }.
struct IndexTextColumn {
  std::string_view name;
  std::string_view sql_type;
  int kind;
};
std::span<const IndexTextColumn> index_text_columns();

// "data_type_q, data_type_k, ...": all columns of a kernel, kernel_columns() first.
std::string index_column_list();

// What a database holds that is opened as an index.
enum class IndexSchema { empty, older, current };
// corruption for another program's database, unsupported for a newer schema or columns that are not known.
Result<IndexSchema> inspect_schema(sqlite::Database& database);

// REQUIRES: a write transaction. Removes every table there is and makes those of this version.
Result<void> create_index_schema(sqlite::Database& database);

}  // namespace cubinet
