// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"
#include "parameter_check.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <algorithm>
#include <charconv>

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
  }
  return "int";
}

std::string ParameterDeclaration::allowed() const {
  if (type == ParameterType::flag) return "true or false";
  if (!values.empty()) {
    std::vector<std::string> names;
    for (const ParameterValue& value : values)
      names.push_back(cubinet::to_string(value));
    return names.size() == 1 ? names.front() : "one of " + join(names, ", ");
  }
  std::string text = "any integer";
  if (minimum != INT64_MIN && maximum != INT64_MAX) {
    text = std::to_string(minimum) + " to " + std::to_string(maximum);
  } else if (minimum != INT64_MIN) {
    text = std::to_string(minimum) + " or more";
  } else if (maximum != INT64_MAX) {
    text = std::to_string(maximum) + " or less";
  }
  if (multiple_of != 1) text += ", a multiple of " + std::to_string(multiple_of);
  return text;
}

namespace {

Error not_allowed(const ParameterDeclaration& declaration, const std::string& value) {
  return Error{ErrorCode::invalid_argument, "parameter '" + declaration.name + "' cannot be " + value,
               declaration.name + " is " + declaration.allowed()};
}

bool type_fits(const ParameterDeclaration& declaration, const ParameterValue& value) {
  switch (declaration.type) {
    case ParameterType::integer:
      return std::holds_alternative<std::int64_t>(value);
    case ParameterType::flag:
      return std::holds_alternative<bool>(value);
    case ParameterType::data_type:
    case ParameterType::choice:
      return std::holds_alternative<std::string>(value);
  }
  return false;
}

bool value_fits(const ParameterDeclaration& declaration, const ParameterValue& value) {
  if (declaration.type == ParameterType::flag) return true;
  if (!declaration.values.empty()) {
    return std::find(declaration.values.begin(), declaration.values.end(), value) != declaration.values.end();
  }
  const std::int64_t* integer = std::get_if<std::int64_t>(&value);
  return integer != nullptr && *integer >= declaration.minimum && *integer <= declaration.maximum &&
         *integer % declaration.multiple_of == 0;
}

}  // namespace

Result<void> check_parameter_value(const ParameterDeclaration& declaration, const ParameterValue& value) {
  const std::string* text = std::get_if<std::string>(&value);
  const std::string shown = text != nullptr ? "'" + printable(*text, kQuotedBytes) + "'" : to_string(value);
  if (!type_fits(declaration, value)) {
    return not_allowed(declaration, shown + ", which is no " + std::string(to_string(declaration.type)));
  }
  if (!value_fits(declaration, value)) return not_allowed(declaration, shown);
  return {};
}

Result<ParameterValue> parse_parameter_value(const ParameterDeclaration& declaration, std::string_view text) {
  const std::string shown = "'" + printable(text, kQuotedBytes) + "'";
  ParameterValue value = std::string(text);
  if (declaration.type == ParameterType::flag) {
    if (text != "true" && text != "false") return not_allowed(declaration, shown);
    value = text == "true";
  } else if (declaration.type == ParameterType::integer) {
    std::int64_t integer = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
    if (error == std::errc::result_out_of_range)
      return not_allowed(declaration, shown + ", which exceeds 64 bits");
    if (error != std::errc() || end != text.data() + text.size()) {
      return not_allowed(declaration, shown + ", which is no int");
    }
    value = integer;
  }
  CUBINET_TRY(check_parameter_value(declaration, value));
  return value;
}

}  // namespace cubinet
