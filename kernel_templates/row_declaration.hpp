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

// The member "row" of a template's declaration: which row of the table of kernels a cubin of it has.
struct RowDeclaration {
  struct Cell {
    const Column* column = nullptr;
    Expression value;  // integer, flag, or the text of a type or of an enumerated value
  };
  std::vector<Cell> cells;  // each column at most once

  bool declares(std::string_view column) const;
};

// invalid_argument, naming the column, for one that is not there or not the template's to say, for an
// expression of another type, and for a constant that the column cannot hold.
Result<RowDeclaration> read_row(const JsonValue& value, const ExpressionSymbols& symbols);

// Selector and traits under these parameters, defaults filled in as column.hpp states them. invalid_argument,
// naming the column, its value and what it may be, for one out of range. REQUIRES: `values` are complete.
Result<KernelRow> evaluate_row(const RowDeclaration& declaration,
                               const std::map<std::string, ParameterValue, std::less<>>& values);

}  // namespace cubinet
