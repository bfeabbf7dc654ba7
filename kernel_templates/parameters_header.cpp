// SPDX-License-Identifier: Apache-2.0
#include "parameters_header.hpp"

#include "names.hpp"
#include "parameter_value.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace cubinet {
namespace {

bool fits_int(std::int64_t value) {
  return value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
}

std::string literal(std::int64_t value) {
  if (fits_int(value)) return std::to_string(value);
  // The lowest value has no literal, because C++ reads a minus sign and a number that does not fit.
  if (value == std::numeric_limits<std::int64_t>::min()) return "-9223372036854775807LL - 1";
  return std::to_string(value) + "LL";
}

std::string literal(double value) {
  const std::string text = to_string(ParameterValue(value));
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string literal(float value) {
  const std::string text = to_string(ParameterValue(value));
  return (text.find_first_of(".e") == std::string::npos ? text + ".0" : text) + "f";
}

std::string literal(bool value) {
  return value ? "true" : "false";
}

// Returns a string literal. Characters that could end or change it are octal escapes.
std::string literal(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (is_word_character(c) || std::string_view(" .,:;+-*/=()[]<>").find(c) != std::string_view::npos) {
      quoted += c;
    } else {
      const auto code = static_cast<unsigned char>(c);
      quoted += '\\';
      for (const int shift : {6, 3, 0})
        quoted += static_cast<char>('0' + ((code >> shift) & 7));
    }
  }
  return quoted + "\"";
}

template <class Number>
std::string literal(const std::vector<Number>& list) {
  std::string text;
  for (const Number number : list)
    text += (text.empty() ? "" : ", ") + literal(number);
  return text;
}

// Returns the type of a constant that is written as a literal.
template <class Value>
std::string cpp_type(const Value& value) {
  using Held =
      typename std::conditional_t<std::is_arithmetic_v<Value>, std::vector<Value>, Value>::value_type;
  if constexpr (std::is_same_v<Held, bool>) {
    return "bool";
  } else if constexpr (std::is_same_v<Held, float>) {
    return "float";
  } else if constexpr (std::is_same_v<Held, double>) {
    return "double";
  } else if constexpr (std::is_same_v<Held, char>) {
    return "char";
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return fits_int(value) ? "int" : "long long";
  } else {
    return std::all_of(value.begin(), value.end(), fits_int) ? "int" : "long long";
  }
}

std::string choice_constant(const ParameterDeclaration& parameter, const std::string& value) {
  const std::string type = parameter.name + "_values";
  std::string text = "enum class " + type + " {";
  const char* separator = " ";
  for (const ParameterValue& choice : parameter.values) {
    text += separator + enumerator_of(std::get<std::string>(choice));
    separator = ", ";
  }
  return text + " };\nconstexpr " + type + " " + parameter.name + " = " + type + "::" + enumerator_of(value) +
         ";\n";
}

std::string literal_constant(const std::string& name, const ParameterValue& value) {
  return std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        const std::string begin = "constexpr " + cpp_type(held) + " " + name;
        if constexpr (std::is_arithmetic_v<Held>) return begin + " = " + literal(held) + ";\n";
        if constexpr (std::is_same_v<Held, std::string>) return begin + "[] = " + literal(held) + ";\n";
        return begin + "[] = {" + literal(held) + "};\n";
      },
      value);
}

std::string constant(const ParameterDeclaration& parameter, const ParameterValue& value) {
  switch (parameter.type) {
    case ParameterType::data_type:
      return "using " + parameter.name + " = cubinet::" + to_string(value) + ";\n";
    case ParameterType::type_name:
      return "using " + parameter.name + " = " + to_string(value) + ";\n";
    case ParameterType::choice:
      return choice_constant(parameter, to_string(value));
    case ParameterType::identifier:
      return {};
    default:
      return literal_constant(parameter.name, value);
  }
}

// Returns a macro's replacement. Flags are 1 and 0 for #if, and a negative number is parenthesised.
std::string macro_text(ParameterType type, const ParameterValue& value) {
  if (type == ParameterType::data_type) return "cubinet::" + to_string(value);
  if (is_text(type) && type != ParameterType::string) return to_string(value);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "1" : "0";
  const std::string text = std::visit([](const auto& held) { return literal(held); }, value);
  return text.front() == '-' && !is_list(type) ? "(" + text + ")" : text;
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
    if (parameter.macro.empty())
      text += constant(parameter, resolved.parameters.find(parameter.name)->second);
  }
  for (std::size_t i = 0; i < entry_points.size(); ++i) {
    const EntryPoint& entry = entry_points[i];
    const std::string threads = "constexpr unsigned " + entry.name + "_threads";
    text += threads + " = " + std::to_string(entry.threads_of_block()) + ";\n";
    if (declaration.kernels[i].threads.size() > 1) {
      text += threads + "_x = " + std::to_string(entry.threads) + ";\n";
      text += threads + "_y = " + std::to_string(entry.threads_y) + ";\n";
      text += threads + "_z = " + std::to_string(entry.threads_z) + ";\n";
    }
    text += "constexpr unsigned " + entry.name +
            "_shared_bytes = " + std::to_string(entry.dynamic_shared_bytes) + ";\n";
  }
  text += "}  // namespace cubinet::parameters\n";
  for (const ParameterDeclaration& parameter : parameters) {
    if (parameter.macro.empty()) continue;
    const ParameterValue& value = resolved.parameters.find(parameter.name)->second;
    text += "#define " + parameter.macro + " " + macro_text(parameter.type, value) + "\n";
  }
  return text;
}

}  // namespace cubinet
