// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_templates/parameter_json.hpp>

#include <charconv>

namespace cubinet {
namespace {

using nlohmann::json;

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

Result<ParameterValue> parameter_value_from_json(const JsonValue& value) {
  if (value.is_flag()) return ParameterValue(value.flag());
  if (value.is_text()) return ParameterValue(value.text());
  if (const auto integer = value.integer()) return ParameterValue(*integer);
  const auto refused = [](std::string text) { return Error{ErrorCode::invalid_argument, std::move(text)}; };
  if (value.is_integer()) return refused(value.literal() + " exceeds 64 bits");
  if (value.is_number()) return ParameterValue(value.number());
  if (!value.is_list())
    return refused((value.is_object() ? "an object" : "null") +
                   std::string(" is no flag, number, text or list"));
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  for (const JsonValue& each : value.items()) {
    if (!each.is_number()) return refused("a list holds something else than numbers");
    if (const auto integer = each.integer()) integers.push_back(*integer);
    numbers.push_back(each.number());
  }
  if (integers.size() == numbers.size()) return ParameterValue(std::move(integers));
  return ParameterValue(std::move(numbers));
}

json to_json(const ParameterValue& value) {
  return std::visit([](const auto& held) { return as_json(held); }, value);
}

}  // namespace cubinet
