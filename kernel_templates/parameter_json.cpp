// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_templates/parameter_json.hpp>

#include <algorithm>
#include <charconv>

namespace cubinet {
namespace {

using nlohmann::json;

constexpr std::size_t kShown = 80;

// Of a list or an object only that it is one: its text may be long, and its depth more than the stack that
// dump() takes for it.
std::string shown(const json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, kShown);
}

bool is_int64(const json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
}

json as_json(bool flag) {
  return flag;
}
json as_json(const std::string& text) {
  return text;
}
json as_json(std::int64_t integer) {
  return integer;
}
json as_json(double number) {
  return number == 0 ? 0.0 : number;
}
json as_json(float number) {
  const std::string text = to_string(ParameterValue(number));
  double decimal = 0;
  std::from_chars(text.data(), text.data() + text.size(), decimal);
  return decimal;
}
template <class Number>
json as_json(const std::vector<Number>& list) {
  json array = json::array();
  for (const Number number : list)
    array.push_back(as_json(number));
  return array;
}

}  // namespace

Result<ParameterValue> parameter_value_from_json(const json& value) {
  if (value.is_boolean()) return ParameterValue(value.get<bool>());
  if (value.is_string()) return ParameterValue(value.get_ref<const std::string&>());
  if (is_int64(value)) return ParameterValue(value.get<std::int64_t>());
  if (value.is_number_float()) return ParameterValue(value.get<double>());
  if (value.is_array() && std::all_of(value.begin(), value.end(), is_int64))
    return ParameterValue(value.get<std::vector<std::int64_t>>());
  if (value.is_array() &&
      std::all_of(value.begin(), value.end(), [](const json& each) { return each.is_number(); }))
    return ParameterValue(value.get<std::vector<double>>());
  return Error{ErrorCode::invalid_argument,
               shown(value) + (value.is_number()  ? " exceeds 64 bits"
                               : value.is_array() ? " holds something else than numbers"
                                                  : " is no flag, number, text or list")};
}

json to_json(const ParameterValue& value) {
  return std::visit([](const auto& held) { return as_json(held); }, value);
}

}  // namespace cubinet
