// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/kernel_template.hpp>

namespace cubinet {

// Returns the value in its canonical form for keys: a number in the parameter's type, a C++ type in
// its canonical spelling, 0 for -0. Returns invalid_argument with the parameter, the value and the
// allowed values.
Result<ParameterValue> admitted_value(const ParameterDeclaration& declaration, ParameterValue value);

}  // namespace cubinet
