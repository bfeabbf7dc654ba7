// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <array>
#include <charconv>

namespace cubinet {
namespace {

std::string text_of(bool flag) {
  return flag ? "true" : "false";
}
std::string text_of(const std::string& text) {
  return text;
}
template <class Number>
std::string text_of(Number number) {
  std::array<char, 32> text{};
  if (number == 0) number = 0;  // replaces -0
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}
template <class Number>
std::string text_of(const std::vector<Number>& list) {
  std::string text;
  for (const Number number : list)
    text += (text.empty() ? "" : ",") + text_of(number);
  return text;
}

}  // namespace

std::string to_string(const ParameterValue& value) {
  return std::visit([](const auto& held) { return text_of(held); }, value);
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
    case KernelMaker::tool:
      return "tool";
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
