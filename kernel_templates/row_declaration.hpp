// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expression.hpp"

#include <cubinet/base/json_object.hpp>
#include <cubinet/kernel_table/column.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace cubinet {

// The member "row" of a template's declaration: the cubin's row in the kernel table.
struct RowDeclaration {
  struct Cell {
    const Column* column = nullptr;
    Expression value;  // integer, flag, or the text of a type or of an enumerated value
  };
  std::vector<Cell> cells;  // each column at most once

  bool declares(std::string_view column) const;
};

// Reads the member "row". Returns invalid_argument with the column if the column does not exist or
// templates may not set it, if the expression has another type, and if the column cannot hold the
// constant.
Result<RowDeclaration> read_row(const JsonValue& value, const ExpressionSymbols& symbols);

// Returns selector and traits for these parameters, with the defaults of column.hpp. Returns
// invalid_argument with the column, its value and its range if a value is out of range. REQUIRES:
// `values` are complete.
Result<KernelRow> evaluate_row(const RowDeclaration& declaration,
                               const std::map<std::string, ParameterValue, std::less<>>& values);

}  // namespace cubinet
