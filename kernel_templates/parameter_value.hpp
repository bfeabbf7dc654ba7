// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <string_view>

namespace cubinet {

// Return whether values of the type are lists of numbers, and whether they are text.
bool is_list(ParameterType type);
bool is_text(ParameterType type);

// Returns the value in the canonical form of the type. The message of invalid_argument is the end
// of a sentence: ", which is no int".
Result<ParameterValue> value_of_type(ParameterType type, ParameterValue value);

// Returns the value of a text: "128", "true", "bf16", "0.1", "1,2,3". Same errors.
Result<ParameterValue> value_of_text(ParameterType type, std::string_view text);

}  // namespace cubinet
