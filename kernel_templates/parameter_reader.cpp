// SPDX-License-Identifier: Apache-2.0
#include "parameter_reader.hpp"

#include "names.hpp"
#include "parameter_check.hpp"
#include "parameter_value.hpp"
#include "template_declaration.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/parameter_json.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumValues = 256;

constexpr ParameterType kTypes[] = {
    ParameterType::integer,      ParameterType::flag,         ParameterType::data_type,
    ParameterType::choice,       ParameterType::float32,      ParameterType::float64,
    ParameterType::string,       ParameterType::type_name,    ParameterType::identifier,
    ParameterType::integer_list, ParameterType::float32_list, ParameterType::float64_list};

Result<ParameterType> parameter_type(JsonObject& object) {
  CUBINET_TRY_ASSIGN(const std::string name, object.text("type"));
  std::vector<std::string> names;
  for (const ParameterType type : kTypes) {
    if (to_string(type) == name) return type;
    names.emplace_back(to_string(type));
  }
  return object.error_at("type",
                         "'" + printable(name, kQuotedBytes) + "' is no type: " + join(names, ", ") + " are");
}

Result<std::string> macro_of(JsonObject& object, ParameterType type) {
  CUBINET_TRY_ASSIGN(const std::string macro, object.text_or("macro", ""));
  if (!object.has("macro")) {
    if (type != ParameterType::identifier) return macro;
    return object.error("an identifier is no constant: 'macro' names it");
  }
  if (is_macro_name(macro)) return macro;
  return object.error_at("macro", "'" + printable(macro, kQuotedBytes) +
                                      "' cannot name a macro: a name is [A-Za-z_][A-Za-z0-9_]*, at most 64 "
                                      "characters, and none that C++ keeps for itself");
}

Result<ParameterValue> typed_value(const JsonObject& object, std::string_view member, ParameterType type,
                                   const JsonValue& value) {
  auto given = parameter_value_from_json(value);
  if (!given) return object.error_of(value, "'" + std::string(member) + "': " + given.error().message);
  auto typed = value_of_type(type, *given);
  if (typed) return typed;
  return object.error_of(value, "'" + std::string(member) + "' has '" +
                                    printable(to_string(*given), kQuotedBytes) + "'" + typed.error().message);
}

Result<void> read_values(JsonObject& object, ParameterDeclaration& parameter) {
  CUBINET_TRY_ASSIGN(const JsonValue::List* values, object.list_or_empty("values"));
  if (values->size() > kMaximumValues) return object.error_at("values", "it has more than 256 values");
  for (const JsonValue& value : *values) {
    CUBINET_TRY_ASSIGN(ParameterValue typed, typed_value(object, "values", parameter.type, value));
    if (std::find(parameter.values.begin(), parameter.values.end(), typed) != parameter.values.end()) {
      return object.error_of(value,
                             "the value '" + printable(to_string(typed), kQuotedBytes) + "' is repeated");
    }
    parameter.values.push_back(std::move(typed));
  }
  const bool named = parameter.type == ParameterType::data_type || parameter.type == ParameterType::choice;
  if (parameter.values.empty() && (named || object.has("values")))
    return object.error_at("values", "it has no values");
  return {};
}

Result<std::optional<ParameterValue>> read_bound(JsonObject& object, std::string_view member,
                                                 ParameterType type) {
  if (!object.has(member)) return std::optional<ParameterValue>();
  CUBINET_TRY_ASSIGN(const JsonValue* given, object.get(member));
  CUBINET_TRY_ASSIGN(ParameterValue bound, typed_value(object, member, type, *given));
  return std::optional(std::move(bound));
}

Result<void> read_range(JsonObject& object, ParameterDeclaration& parameter) {
  const bool is_integer = parameter.type == ParameterType::integer;
  const bool ranged =
      object.has("minimum") || object.has("maximum") || (is_integer && object.has("multiple_of"));
  if (!ranged) return {};
  if (!parameter.values.empty()) return object.error_at("values", "it has both values and a range");
  CUBINET_TRY_ASSIGN(parameter.minimum, read_bound(object, "minimum", parameter.type));
  CUBINET_TRY_ASSIGN(parameter.maximum, read_bound(object, "maximum", parameter.type));
  if (is_integer) {
    CUBINET_TRY_ASSIGN(parameter.multiple_of, object.integer_or("multiple_of", 1));
  }
  if (parameter.minimum && parameter.maximum && *parameter.maximum < *parameter.minimum)
    return object.error_at("minimum", "its minimum exceeds its maximum");
  if (parameter.multiple_of < 1) return object.error_at("multiple_of", "'multiple_of' is below 1");
  return {};
}

Result<ParameterValue> admitted_default(const JsonObject& object, std::string_view member,
                                        const ParameterDeclaration& parameter, ParameterValue value) {
  auto admitted = admitted_value(parameter, std::move(value));
  if (admitted) return admitted;
  return object.error_at(member, "its default is not allowed: " + admitted.error().to_line());
}

Result<std::optional<Expression>> read_default(JsonObject& object, ParameterDeclaration& parameter,
                                               const ExpressionSymbols& before) {
  if (object.has("default")) {
    CUBINET_TRY_ASSIGN(const JsonValue* given, object.get("default"));
    CUBINET_TRY_ASSIGN(ParameterValue value, typed_value(object, "default", parameter.type, *given));
    CUBINET_TRY_ASSIGN(parameter.default_value,
                       admitted_default(object, "default", parameter, std::move(value)));
  }
  if (!object.has("default_expression")) return std::optional<Expression>();
  if (parameter.default_value)
    return object.error_at("default_expression", "it has both a default and a default_expression");
  CUBINET_TRY_ASSIGN(parameter.default_expression, object.text("default_expression"));
  CUBINET_TRY_ASSIGN(Expression expression,
                     typed_expression(object, "default_expression", parameter.default_expression,
                                      symbol_of(parameter).type, before));
  if (expression.names().empty()) {
    auto value = expression.evaluate({});
    if (!value) return object.error_at("default_expression", value.error().message);
    CUBINET_TRY(admitted_default(object, "default_expression", parameter, *std::move(value)));
  }
  return std::optional(std::move(expression));
}

}  // namespace

ExpressionSymbol symbol_of(const ParameterDeclaration& parameter) {
  ExpressionSymbol symbol;
  symbol.data_type = parameter.type == ParameterType::data_type;
  if (parameter.type == ParameterType::flag) {
    symbol.type = ExpressionType::flag;
  } else if (is_text(parameter.type)) {
    symbol.type = ExpressionType::text;
  } else if (parameter.type != ParameterType::integer) {
    symbol.type = ExpressionType::opaque;
  }
  return symbol;
}

Result<ReadParameter> read_parameter(const JsonValue& value, const ExpressionSymbols& before) {
  const JsonValue* name = value.find("name");
  const std::string where = name != nullptr && name->is_text()
                                ? "parameter '" + printable(name->text(), kQuotedBytes) + "'"
                                : "a parameter";
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, where));
  ReadParameter read;
  ParameterDeclaration& parameter = read.declaration;
  CUBINET_TRY_ASSIGN(parameter.name, identifier_member(object, "parameter"));
  CUBINET_TRY_ASSIGN(parameter.type, parameter_type(object));
  CUBINET_TRY_ASSIGN(parameter.macro, macro_of(object, parameter.type));
  CUBINET_TRY_ASSIGN(parameter.summary, object.text_or("summary", ""));
  if (parameter.type != ParameterType::flag) {
    CUBINET_TRY(read_values(object, parameter));
  }
  const bool is_number = parameter.type == ParameterType::integer ||
                         parameter.type == ParameterType::float32 || parameter.type == ParameterType::float64;
  if (is_number) {
    CUBINET_TRY(read_range(object, parameter));
  }
  CUBINET_TRY_ASSIGN(read.default_expression, read_default(object, parameter, before));
  CUBINET_TRY(object.finish());
  return read;
}

}  // namespace cubinet
