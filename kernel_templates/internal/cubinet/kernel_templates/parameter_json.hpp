// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <nlohmann/json.hpp>

namespace cubinet {

// A value as JSON has it: a flag, text, a number (an integer where it is written as one), a list of numbers
// (of integers where all are). Which of them a parameter takes its declaration tells. invalid_argument for
// the rest.
Result<ParameterValue> parameter_value_from_json(const nlohmann::json& value);

// The same value as JSON; a float as the shortest decimal that is this float.
nlohmann::json to_json(const ParameterValue& value);

}  // namespace cubinet
