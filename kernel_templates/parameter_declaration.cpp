// SPDX-License-Identifier: Apache-2.0
#include "parameter_check.hpp"
#include "parameter_value.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <algorithm>

namespace cubinet {

std::string_view to_string(ParameterType type) {
  switch (type) {
    case ParameterType::integer:
      return "int";
    case ParameterType::flag:
      return "bool";
    case ParameterType::data_type:
      return "dtype";
    case ParameterType::choice:
      return "choice";
    case ParameterType::float32:
      return "float";
    case ParameterType::float64:
      return "double";
    case ParameterType::string:
      return "string";
    case ParameterType::type_name:
      return "type";
    case ParameterType::identifier:
      return "identifier";
    case ParameterType::integer_list:
      return "int[]";
    case ParameterType::float32_list:
      return "float[]";
    case ParameterType::float64_list:
      return "double[]";
  }
  return "int";
}

namespace {

std::string any_of(ParameterType type) {
  switch (type) {
    case ParameterType::string:
      return "any ASCII text, at most 4096 characters";
    case ParameterType::type_name:
      return "any C++ type";
    case ParameterType::identifier:
      return "any C++ name";
    case ParameterType::integer_list:
      return "a list of 1 to 4096 integers";
    case ParameterType::float32_list:
    case ParameterType::float64_list:
      return "a list of 1 to 4096 numbers";
    case ParameterType::integer:
      return "any integer";
    default:
      return "any number";
  }
}

}  // namespace

std::string ParameterDeclaration::allowed() const {
  if (type == ParameterType::flag) return "true or false";
  if (!values.empty()) {
    std::vector<std::string> names;
    for (const ParameterValue& value : values)
      names.push_back(cubinet::to_string(value));
    return names.size() == 1 ? names.front() : "one of " + join(names, is_list(type) ? " or " : ", ");
  }
  std::string text = any_of(type);
  if (minimum && maximum) {
    text = cubinet::to_string(*minimum) + " to " + cubinet::to_string(*maximum);
  } else if (minimum) {
    text = cubinet::to_string(*minimum) + " or more";
  } else if (maximum) {
    text = cubinet::to_string(*maximum) + " or less";
  }
  if (multiple_of != 1) text += ", a multiple of " + std::to_string(multiple_of);
  return text;
}

namespace {

Error not_allowed(const ParameterDeclaration& declaration, const std::string& value) {
  return Error{ErrorCode::invalid_argument, "parameter '" + declaration.name + "' cannot be " + value,
               declaration.name + " is " + declaration.allowed()};
}

bool value_fits(const ParameterDeclaration& declaration, const ParameterValue& value) {
  if (!declaration.values.empty()) {
    return std::find(declaration.values.begin(), declaration.values.end(), value) != declaration.values.end();
  }
  // All three have the parameter's type and can be compared.
  if (declaration.minimum && value < *declaration.minimum) return false;
  if (declaration.maximum && *declaration.maximum < value) return false;
  const std::int64_t* integer = std::get_if<std::int64_t>(&value);
  return integer == nullptr || *integer % declaration.multiple_of == 0;
}

std::string shown(const ParameterValue& value) {
  const std::string text = printable(to_string(value), kQuotedBytes);
  return std::holds_alternative<std::string>(value) ? "'" + text + "'" : text;
}

}  // namespace

Result<ParameterValue> admitted_value(const ParameterDeclaration& declaration, ParameterValue value) {
  auto typed = value_of_type(declaration.type, value);
  if (!typed) return not_allowed(declaration, shown(value) + typed.error().message);
  if (!value_fits(declaration, *typed)) return not_allowed(declaration, shown(value));
  return typed;
}

Result<ParameterValue> parse_parameter_value(const ParameterDeclaration& declaration, std::string_view text) {
  auto value = value_of_text(declaration.type, text);
  if (value) return admitted_value(declaration, *std::move(value));
  return not_allowed(declaration, "'" + printable(text, kQuotedBytes) + "'" + value.error().message);
}

}  // namespace cubinet
