// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/kernel_row.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

enum class ColumnKind : std::uint8_t { integer = 0, flag = 1, data_type = 2, enumeration = 3 };

// A column of a kernel's row that holds a number. Header readers, stored tables and explanations of
// near misses share the list of columns, so each field is described once. The few text columns
// (function name, digest, source, target) are handled by name.
struct Column {
  std::string_view name;  // this project's name, in stored tables and explanations
  // The name in the struct of published headers. Empty if absent there.
  std::string_view header_name;
  ColumnKind kind;
  bool asked_for;  // part of the selector; otherwise a trait or a fact of the row
  // The value for tables without the column. Some defaults depend on other columns, see below.
  std::int64_t default_value;
  std::int64_t (*get)(const KernelRow&);
  void (*set)(KernelRow&, std::int64_t);  // REQUIRES: fits(value)
  std::int64_t maximum;
  bool identifies = true;  // part of a kernel's identity; false for data that only the launch needs
  // Returns the name of a type or an enumerated value. Null if the value is a number or a flag.
  // REQUIRES: fits(value).
  std::string_view (*word)(std::int64_t value) = nullptr;

  bool fits(std::int64_t value) const { return value >= 0 && value <= maximum; }
};

// Returns the columns in the order of stored tables. The defaults of columns that a header may lack
// are:
//   data types of K and V       the header's common KV type
//   groups_heads_q              on for generation kernels, off for context
//   step_q, step_kv             the tile's sizes
//   threads                     512
//   everything else             default_value (0: off, none)
std::span<const Column> kernel_columns();
const Column* find_column(std::string_view name);
const Column* find_header_column(std::string_view header_name);

// Returns a row in which every column has its default_value.
KernelRow blank_row();

// Returns a value as text: "bf16", "causal", "true", "128".
std::string column_text(const Column& column, std::int64_t value);

// Parses the text of types, enumerated values, "true" and "false", and decimal numbers. Returns
// nullopt for text that is not a value of the column.
std::optional<std::int64_t> parse_column_text(const Column& column, std::string_view text);

// A selector column in which a row differs from the request.
struct ColumnDifference {
  const Column* column = nullptr;
  std::int64_t wanted = 0;
  std::int64_t found = 0;

  std::string to_string() const;  // "tile_size_q 8 instead of 16"
};
std::vector<ColumnDifference> differences(const KernelSelector& wanted, const KernelSelector& found);

}  // namespace cubinet
