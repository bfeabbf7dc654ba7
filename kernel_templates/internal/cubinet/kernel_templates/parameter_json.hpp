// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/json_value.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <nlohmann/json.hpp>

namespace cubinet {

// Returns a flag, a text, a number (an integer if written as one) or a list of numbers (of integers
// if all are). The declaration decides later which of them the parameter accepts. Returns
// invalid_argument for other values.
Result<ParameterValue> parameter_value_from_json(const JsonValue& value);

// Returns the value as JSON. A float is the shortest decimal that reads back as this float.
nlohmann::json to_json(const ParameterValue& value);

}  // namespace cubinet
