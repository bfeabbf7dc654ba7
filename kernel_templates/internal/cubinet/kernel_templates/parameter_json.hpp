// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/json_value.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <nlohmann/json.hpp>

namespace cubinet {

// Returns a flag, a text, a number (an integer if it is written as one) or a list of numbers (of integers if
// all are). The parameter's declaration says which of them it takes. invalid_argument for other values.
Result<ParameterValue> parameter_value_from_json(const JsonValue& value);

// The same value as JSON; a float as the shortest decimal that is this float.
nlohmann::json to_json(const ParameterValue& value);

}  // namespace cubinet
