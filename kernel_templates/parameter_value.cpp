// SPDX-License-Identifier: Apache-2.0
#include "parameter_value.hpp"

#include "names.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/spec/data_type.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumString = 4096;
constexpr std::size_t kMaximumList = 4096;

Error none(std::string reason) {
  return Error{ErrorCode::invalid_argument, std::move(reason)};
}

Error not_of(ParameterType type) {
  return none(", which is no " + std::string(to_string(type)));
}

template <class Number>
struct TypeOf;
template <>
struct TypeOf<std::int64_t> {
  static constexpr const char* kName = "64-bit integer";
};
template <>
struct TypeOf<float> {
  static constexpr const char* kName = "float";
};
template <>
struct TypeOf<double> {
  static constexpr const char* kName = "double";
};

// Returns the nearest number of the type. An integer must be represented exactly.
template <class To, class From>
Result<To> nearest(From from) {
  const Error unlike = none(std::string(", which no ") + TypeOf<To>::kName + " is near to");
  if constexpr (std::is_same_v<To, From> && std::is_integral_v<To>) {
    return from;
  } else if constexpr (std::is_integral_v<To>) {
    return none(std::string(", which is no ") + TypeOf<To>::kName);
  } else if constexpr (std::is_integral_v<From>) {
    const To to = static_cast<To>(from);
    // 2^63 does not fit a 64-bit integer, and the conversion would be undefined.
    if (to >= -static_cast<To>(INT64_MIN) || static_cast<From>(to) != from) return unlike;
    return to;
  } else {
    const To to = static_cast<To>(from);
    if (!std::isfinite(to) || (to == 0 && from != 0)) return unlike;
    return to == 0 ? To{0} : to;
  }
}

template <class To>
Result<ParameterValue> number_of(const ParameterValue& value, ParameterType type) {
  return std::visit(
      [&](const auto& held) -> Result<ParameterValue> {
        using From = std::decay_t<decltype(held)>;
        if constexpr (std::is_arithmetic_v<From> && !std::is_same_v<From, bool>) {
          CUBINET_TRY_ASSIGN(const To to, nearest<To>(held));
          return ParameterValue(to);
        } else {
          return not_of(type);
        }
      },
      value);
}

template <class To>
Result<ParameterValue> list_of(const ParameterValue& value, ParameterType type) {
  return std::visit(
      [&](const auto& held) -> Result<ParameterValue> {
        using From = std::decay_t<decltype(held)>;
        if constexpr (std::is_arithmetic_v<From> || std::is_same_v<From, std::string>) {
          return not_of(type);
        } else {
          if (held.empty() || held.size() > kMaximumList)
            return none(", a list of " + std::to_string(held.size()) + " numbers; 1 to 4096 are taken");
          std::vector<To> list;
          for (const auto number : held) {
            CUBINET_TRY_ASSIGN(list.emplace_back(), nearest<To>(number));
          }
          return ParameterValue(std::move(list));
        }
      },
      value);
}

Result<ParameterValue> text_of_type(ParameterType type, const ParameterValue& value) {
  const std::string* text = std::get_if<std::string>(&value);
  if (text == nullptr) return not_of(type);
  switch (type) {
    case ParameterType::data_type:
      if (!parse_data_type(*text)) return none(", which is no name of a data type");
      return value;
    case ParameterType::choice:
      if (!is_choice_name(*text)) return none(", which is no name: [a-z0-9][a-z0-9_]*, no word of C++");
      return value;
    case ParameterType::identifier:
      if (!is_qualified_name(*text)) return none(", which is no name in C++");
      return value;
    case ParameterType::type_name: {
      const auto type_text = canonical_type(*text);
      if (!type_text) return none(", which is no type in C++");
      return ParameterValue(*type_text);
    }
    default:
      if (text->size() > kMaximumString) return none(", which is longer than 4096 characters");
      if (std::any_of(text->begin(), text->end(), [](char c) { return c <= 0; }))
        return none(", which holds more than ASCII characters");
      return value;
  }
}

template <class Number>
Result<Number> parsed(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range)
    return none(std::is_integral_v<Number> ? ", which exceeds 64 bits" : ", which no double is near to");
  if (error != std::errc() || end != text.data() + text.size()) return none("");
  return number;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

template <class Number>
Result<ParameterValue> parsed_list(std::string_view text) {
  std::vector<Number> list;
  for (bool more = true; more;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    CUBINET_TRY_ASSIGN(list.emplace_back(), parsed<Number>(trimmed(text.substr(0, comma))));
    more = comma < text.size();
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return ParameterValue(std::move(list));
}

Result<ParameterValue> parsed_value(ParameterType type, std::string_view text) {
  switch (type) {
    case ParameterType::flag:
      if (text != "true" && text != "false") return none("");
      return ParameterValue(text == "true");
    case ParameterType::integer: {
      CUBINET_TRY_ASSIGN(const std::int64_t integer, parsed<std::int64_t>(text));
      return ParameterValue(integer);
    }
    case ParameterType::float32:
    case ParameterType::float64: {
      CUBINET_TRY_ASSIGN(const double number, parsed<double>(text));
      return ParameterValue(number);
    }
    case ParameterType::integer_list:
      return parsed_list<std::int64_t>(text);
    case ParameterType::float32_list:
    case ParameterType::float64_list:
      return parsed_list<double>(text);
    default:
      return ParameterValue(std::string(text));
  }
}

}  // namespace

bool is_list(ParameterType type) {
  return type == ParameterType::integer_list || type == ParameterType::float32_list ||
         type == ParameterType::float64_list;
}

bool is_text(ParameterType type) {
  return type == ParameterType::data_type || type == ParameterType::choice || type == ParameterType::string ||
         type == ParameterType::identifier || type == ParameterType::type_name;
}

Result<ParameterValue> value_of_type(ParameterType type, ParameterValue value) {
  switch (type) {
    case ParameterType::flag:
      if (!std::holds_alternative<bool>(value)) return not_of(type);
      return value;
    case ParameterType::integer:
      if (!std::holds_alternative<std::int64_t>(value)) return not_of(type);
      return value;
    case ParameterType::float32:
      return number_of<float>(value, type);
    case ParameterType::float64:
      return number_of<double>(value, type);
    case ParameterType::integer_list:
      return list_of<std::int64_t>(value, type);
    case ParameterType::float32_list:
      return list_of<float>(value, type);
    case ParameterType::float64_list:
      return list_of<double>(value, type);
    default:
      return text_of_type(type, value);
  }
}

Result<ParameterValue> value_of_text(ParameterType type, std::string_view text) {
  auto value = parsed_value(type, text);
  if (value) return value_of_type(type, *std::move(value));
  return value.error().message.empty() ? Result<ParameterValue>(not_of(type)) : std::move(value);
}

}  // namespace cubinet
