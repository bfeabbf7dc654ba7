// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expression.hpp"

#include <cubinet/base/json_object.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <optional>

namespace cubinet {

// A parameter of a declaration, and the expression of its default if it has one.
struct ReadParameter {
  ParameterDeclaration declaration;
  std::optional<Expression> default_expression;
};

// Reads one of the declaration's "parameters". `before` are the preceding parameters, which its
// default may use. Returns invalid_argument with the parameter and the member.
Result<ReadParameter> read_parameter(const JsonValue& value, const ExpressionSymbols& before);

// Returns the parameter as expressions see it.
ExpressionSymbol symbol_of(const ParameterDeclaration& parameter);

}  // namespace cubinet
