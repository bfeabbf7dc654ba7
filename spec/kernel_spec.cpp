// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/spec/kernel_spec.hpp>

namespace cubinet {

std::string to_string(const ParameterValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  return std::get<std::string>(value);
}

std::string_view to_string(KernelMaker maker) {
  switch (maker) {
    case KernelMaker::kernel_template:
      return "template";
    case KernelMaker::publisher:
      return "publisher";
    case KernelMaker::function:
      return "function";
    case KernelMaker::source:
      return "source";
  }
  return "template";
}

KernelSpec& KernelSpec::set(std::string_view parameter, ParameterValue value) {
  parameters.insert_or_assign(std::string(parameter), std::move(value));
  return *this;
}

std::string KernelSpec::to_string() const {
  if (maker == KernelMaker::function && parameters.empty()) return printable(name);
  std::string text = printable(name);
  if (maker != KernelMaker::source) {
    const char* separator = "(";
    for (const auto& [parameter, value] : parameters) {
      text += separator + printable(parameter) + "=" + printable(cubinet::to_string(value));
      separator = ", ";
    }
    text += parameters.empty() ? "()" : ")";
  }
  for (const std::string& flag : compiler_flags(options))
    text += " " + printable(flag);
  return text;
}

}  // namespace cubinet
