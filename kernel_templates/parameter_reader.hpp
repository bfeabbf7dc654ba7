// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expression.hpp"

#include <cubinet/base/json_object.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <optional>

namespace cubinet {

// A parameter of a declaration, and the expression of its default where it has one.
struct ReadParameter {
  ParameterDeclaration declaration;
  std::optional<Expression> default_expression;
};

// One of `declaration`'s "parameters". `before` are those that stand before it, which its default may use.
// invalid_argument names the parameter and the member.
Result<ReadParameter> read_parameter(const JsonValue& value, const ExpressionSymbols& before);

// What expressions see of it.
ExpressionSymbol symbol_of(const ParameterDeclaration& parameter);

}  // namespace cubinet
