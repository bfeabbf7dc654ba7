// SPDX-License-Identifier: Apache-2.0
#include "parameters_header.hpp"

#include <algorithm>
#include <limits>

namespace cubinet {
namespace {

std::string integer_constant(const std::string& name, std::int64_t value) {
  if (value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max()) {
    return "constexpr int " + name + " = " + std::to_string(value) + ";\n";
  }
  // The lowest value has no literal: C++ reads a minus sign and a number that does not fit.
  const std::string text = value == std::numeric_limits<std::int64_t>::min() ? "-9223372036854775807LL - 1"
                                                                             : std::to_string(value) + "LL";
  return "constexpr long long " + name + " = " + text + ";\n";
}

std::string choice_constant(const ParameterDeclaration& parameter, const std::string& value) {
  const std::string type = parameter.name + "_values";
  std::string text = "enum class " + type + " {";
  const char* separator = " ";
  for (const ParameterValue& enumerator : parameter.values) {
    text += separator + to_string(enumerator);
    separator = ", ";
  }
  return text + " };\nconstexpr " + type + " " + parameter.name + " = " + type + "::" + value + ";\n";
}

std::string constant(const ParameterDeclaration& parameter, const ParameterValue& value) {
  switch (parameter.type) {
    case ParameterType::integer:
      return integer_constant(parameter.name, std::get<std::int64_t>(value));
    case ParameterType::flag:
      return "constexpr bool " + parameter.name + " = " + to_string(value) + ";\n";
    case ParameterType::data_type:
      return "using " + parameter.name + " = cubinet::" + to_string(value) + ";\n";
    case ParameterType::choice:
      return choice_constant(parameter, to_string(value));
  }
  return {};
}

}  // namespace

std::string write_parameters_header(const TemplateDeclaration& declaration, const KernelSpec& resolved,
                                    const std::vector<EntryPoint>& entry_points) {
  const auto& parameters = declaration.parameters;
  const bool any_data_type = std::any_of(parameters.begin(), parameters.end(), [](const auto& parameter) {
    return parameter.type == ParameterType::data_type;
  });
  std::string text = "#pragma once\n";
  if (any_data_type) text += "#include <cubinet/types.cuh>\n";
  text += "namespace cubinet::parameters {\n";
  for (const ParameterDeclaration& parameter : parameters) {
    text += constant(parameter, resolved.parameters.find(parameter.name)->second);
  }
  for (const EntryPoint& entry : entry_points) {
    text += "constexpr unsigned " + entry.name + "_threads = " + std::to_string(entry.threads) + ";\n";
    text += "constexpr unsigned " + entry.name +
            "_shared_bytes = " + std::to_string(entry.dynamic_shared_bytes) + ";\n";
  }
  return text + "}  // namespace cubinet::parameters\n";
}

}  // namespace cubinet
