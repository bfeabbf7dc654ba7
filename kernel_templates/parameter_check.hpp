// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/kernel_template.hpp>

namespace cubinet {

// The value in the one form that it has in keys: a number in the parameter's type, a C++ type in its one
// spelling, 0 for -0. invalid_argument names the parameter, the value and what is allowed.
Result<ParameterValue> admitted_value(const ParameterDeclaration& declaration, ParameterValue value);

}  // namespace cubinet
