// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/kernel_template.hpp>

namespace cubinet {

// invalid_argument names the parameter, the value and what is allowed.
Result<void> check_parameter_value(const ParameterDeclaration& declaration, const ParameterValue& value);

}  // namespace cubinet
