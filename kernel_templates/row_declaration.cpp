// SPDX-License-Identifier: Apache-2.0
#include "row_declaration.hpp"

#include "names.hpp"
#include "template_declaration.hpp"

#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>

namespace cubinet {
namespace {

using Values = std::map<std::string, ParameterValue, std::less<>>;

// Returns whether the column follows from the declaration's kernels, which already state it.
bool is_of_kernel(const Column& column) {
  return column.name == "threads" || column.name == "shared_bytes";
}

ExpressionType type_of(const Column& column) {
  switch (column.kind) {
    case ColumnKind::integer:
      return ExpressionType::integer;
    case ColumnKind::flag:
      return ExpressionType::flag;
    case ColumnKind::data_type:
    case ColumnKind::enumeration:
      return ExpressionType::text;
  }
  return ExpressionType::integer;
}

std::string allowed_by(const Column& column) {
  if (column.kind == ColumnKind::integer) return "0 to " + std::to_string(column.maximum);
  std::vector<std::string> names;
  for (std::int64_t value = 0; value <= column.maximum; ++value)
    names.push_back(column_text(column, value));
  return "one of " + join(names, ", ");
}

Result<std::int64_t> value_of(const Column& column, const Expression& expression, const Values& values) {
  CUBINET_TRY_ASSIGN(const ParameterValue value, expression.evaluate(values));
  std::optional<std::int64_t> number;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) number = *integer;
  if (const auto* flag = std::get_if<bool>(&value)) number = *flag ? 1 : 0;
  if (const auto* text = std::get_if<std::string>(&value)) number = parse_column_text(column, *text);
  if (number && column.fits(*number)) return *number;
  return Error{ErrorCode::invalid_argument,
               "the row's '" + std::string(column.name) + "' cannot be '" +
                   printable(to_string(value), kQuotedBytes) + "', which '" +
                   printable(expression.text(), kQuotedBytes) + "' gives",
               std::string(column.name) + " is " + allowed_by(column)};
}

Result<const Column*> column_named(const JsonObject& object, const std::string& name) {
  const Column* column = find_column(name);
  if (column != nullptr && !is_of_kernel(*column)) return column;
  if (column != nullptr) {
    return object.error_at(name,
                           "'" + name + "' is no part of it: it is that of the template's first kernel");
  }
  std::vector<std::string> names;
  for (const Column& other : kernel_columns()) {
    if (!is_of_kernel(other)) names.emplace_back(other.name);
  }
  return object.error_at(name, "a kernel's row has no column '" + printable(name, kQuotedBytes) +
                                   "'; did you mean '" + nearest_first(names, name).front() + "'?");
}

// Reads a cell: an expression as a string, or a constant number or flag.
Result<Expression> read_cell(const JsonObject& object, const Column& column, const JsonValue& value,
                             const ExpressionSymbols& symbols) {
  if (!value.is_text() && !value.is_integer() && !value.is_flag()) {
    return object.error_at(column.name, "'" + std::string(column.name) +
                                            "' is neither an expression in quotes nor an integer nor a flag");
  }
  const std::string text = value.is_text() ? value.text() : value.literal();
  CUBINET_TRY_ASSIGN(Expression expression,
                     typed_expression(object, column.name, text, type_of(column), symbols));
  if (!expression.names().empty()) return expression;
  if (auto constant = value_of(column, expression, {}); !constant)
    return object.error_at(column.name, constant.error().to_line());
  return expression;
}

// Fills in the defaults that depend on other columns.
void fill_in(const RowDeclaration& declaration, KernelRow& row) {
  if (!declaration.declares("step_q")) row.traits.step_q = row.selector.tile_size_q;
  if (!declaration.declares("step_kv")) row.traits.step_kv = row.selector.tile_size_kv;
  if (!declaration.declares("groups_heads_q")) {
    row.traits.groups_heads_q = row.selector.kernel_type != KernelType::context;
  }
  if (!declaration.declares("head_dim_per_cta_v")) row.selector.head_dim_per_cta_v = row.selector.head_dim_v;
}

}  // namespace

bool RowDeclaration::declares(std::string_view column) const {
  return std::any_of(cells.begin(), cells.end(),
                     [&](const Cell& cell) { return cell.column->name == column; });
}

Result<RowDeclaration> read_row(const JsonValue& value, const ExpressionSymbols& symbols) {
  CUBINET_TRY_ASSIGN(const JsonObject object, JsonObject::open(value, "the row"));
  RowDeclaration declaration;
  bool varies = false;
  for (const auto& [name, cell] : value.members()) {
    CUBINET_TRY_ASSIGN(const Column* column, column_named(object, name));
    CUBINET_TRY_ASSIGN(Expression expression, read_cell(object, *column, cell, symbols));
    varies = varies || !expression.names().empty();
    declaration.cells.push_back({column, std::move(expression)});
  }
  if (varies) return declaration;
  if (const auto row = evaluate_row(declaration, {}); !row) return object.error(row.error().to_line());
  return declaration;
}

Result<KernelRow> evaluate_row(const RowDeclaration& declaration, const Values& values) {
  KernelRow row = blank_row();
  for (const RowDeclaration::Cell& cell : declaration.cells) {
    CUBINET_TRY_ASSIGN(const std::int64_t number, value_of(*cell.column, cell.value, values));
    cell.column->set(row, number);
  }
  fill_in(declaration, row);
  CUBINET_TRY(check_ranges(row));
  return row;
}

}  // namespace cubinet
