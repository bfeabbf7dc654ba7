// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expression.hpp"

#include <cubinet/base/json_object.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// One of the "options" of a template's declaration: a flag of the compiler. Its value may have
// expressions of the parameters in braces, and it may depend on a condition.
struct OptionDeclaration {
  struct Part {
    std::string text;
    std::optional<Expression> value;  // appended to the text
  };
  std::vector<Part> parts;
  std::optional<Expression> condition;  // of type flag; nullopt: unconditional

  // Returns the expressions of the value and the condition.
  std::vector<const Expression*> expressions() const;
};

// Reads the member "options". `parameters` are those of the declaration. Returns invalid_argument
// for a flag that is refused, for an expression outside a value, and for a macro that a parameter
// defines.
Result<std::vector<OptionDeclaration>> read_options(JsonObject& declaration,
                                                    const std::vector<ParameterDeclaration>& parameters);

// Returns the flags for these parameter values. REQUIRES: every declared parameter has a value.
Result<CompilerOptions> evaluate_options(const std::vector<OptionDeclaration>& declared,
                                         const std::map<std::string, ParameterValue, std::less<>>& values);

}  // namespace cubinet
