// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/kernel_spec.hpp>

namespace cubinet {

std::string to_string(const ParameterValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  return std::get<std::string>(value);
}

KernelSpec& KernelSpec::set(std::string_view name, ParameterValue value) {
  parameters.insert_or_assign(std::string(name), std::move(value));
  return *this;
}

std::string KernelSpec::to_string() const {
  std::string text = template_name + "(";
  const char* separator = "";
  for (const auto& [name, value] : parameters) {
    text += separator + name + "=" + cubinet::to_string(value);
    separator = ", ";
  }
  return text + ")";
}

}  // namespace cubinet
