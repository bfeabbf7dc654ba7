// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace cubinet {

// The value of one template parameter: an integer, a flag, or the name of a data type or choice.
using ParameterValue = std::variant<bool, std::int64_t, std::string>;

std::string to_string(const ParameterValue& value);  // "true", "128", "bf16"

// What a caller asks for: a template by name and values for its parameters, of any template, ours or the
// user's. A plain value; knows nothing of what the template allows (KernelTemplate::resolve does).
//
// Parameters are ordered by name, so two specifications are equal whatever order they were written in.
struct KernelSpec {
  std::string template_name;
  std::map<std::string, ParameterValue, std::less<>> parameters;

  // Sets one parameter and returns *this, so that a specification can be written as one expression.
  KernelSpec& set(std::string_view name, ParameterValue value);
  // Chosen by the argument's own type: `true` is a flag, any integer an integer, text a name.
  template <class Value, class = std::enable_if_t<!std::is_same_v<Value, ParameterValue>>>
  KernelSpec& set(std::string_view name, const Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
      return set(name, ParameterValue(value));
    } else if constexpr (std::is_integral_v<Value>) {
      return set(name, ParameterValue(static_cast<std::int64_t>(value)));
    } else {
      return set(name, ParameterValue(std::string(value)));
    }
  }

  // "attention_decode(dtype_q=bf16, head_dim_qk=128)", for messages.
  std::string to_string() const;

  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

}  // namespace cubinet
