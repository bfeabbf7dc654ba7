// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <string_view>

namespace cubinet {

// Whether the type's values are lists of numbers, and text.
bool is_list(ParameterType type);
bool is_text(ParameterType type);

// A value in the one form that this type's values have. invalid_argument holds why it has none: ", which is
// no int".
Result<ParameterValue> value_of_type(ParameterType type, ParameterValue value);

// From text: "128", "true", "bf16", "0.1", "1,2,3". The same errors.
Result<ParameterValue> value_of_text(ParameterType type, std::string_view text);

}  // namespace cubinet
