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

// One column of a kernel's row that holds a number. The list of them is what readers of headers, stored
// tables and explanations of near misses share: a field is described here once. Text columns (function name,
// digest, source, target) are few and handled by name.
struct Column {
  std::string_view name;         // ours, in stored tables and explanations
  std::string_view header_name;  // of the struct in published headers; empty when they have none
  ColumnKind kind;
  bool asked_for;              // part of the selector; otherwise a trait or a fact of the row
  std::int64_t default_value;  // where a table has no such column; some defaults depend on others, see below
  std::int64_t (*get)(const KernelRow&);
  void (*set)(KernelRow&, std::int64_t);  // REQUIRES: fits(value)
  std::int64_t maximum;
  bool identifies = true;  // part of a kernel's identity; not so what its launch needs to know
  // Of a type or an enumerated value; null where the value is a number or a flag. REQUIRES: fits(value).
  std::string_view (*word)(std::int64_t value) = nullptr;

  bool fits(std::int64_t value) const { return value >= 0 && value <= maximum; }
};

// In the order in which stored tables list them. Stated defaults of what a header may lack:
//   data types of K and V       the header's common KV type
//   groups_heads_q              on for generation kernels, off for context
//   step_q, step_kv             the tile's sizes
//   threads                     512
//   everything else             default_value (0: off, none)
std::span<const Column> kernel_columns();
const Column* find_column(std::string_view name);
const Column* find_header_column(std::string_view header_name);

// A row in which every column has its default_value.
KernelRow blank_row();

// A value in words: "bf16", "causal", "true", "128".
std::string column_text(const Column& column, std::int64_t value);

// The inverse, for types, enumerated values, "true" and "false", and decimal numbers; nullopt for text that
// no value of the column has.
std::optional<std::int64_t> parse_column_text(const Column& column, std::string_view text);

// The asked-for columns in which a row differs from what was wanted.
struct ColumnDifference {
  const Column* column = nullptr;
  std::int64_t wanted = 0;
  std::int64_t found = 0;

  std::string to_string() const;  // "tile_size_q 8 instead of 16"
};
std::vector<ColumnDifference> differences(const KernelSelector& wanted, const KernelSelector& found);

}  // namespace cubinet
