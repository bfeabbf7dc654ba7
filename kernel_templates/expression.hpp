// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The type of an expression's value. `opaque` is a float, a double or a list: it can only be
// compared.
enum class ExpressionType { integer, flag, text, opaque };

std::string_view to_string(ExpressionType type);

// A name that an expression may use, and its type. If `data_type` is true, bytes() and bits()
// accept it.
struct ExpressionSymbol {
  ExpressionType type = ExpressionType::integer;
  bool data_type = false;
};
using ExpressionSymbols = std::map<std::string, ExpressionSymbol, std::less<>>;

// A formula over a template's parameters (docs/formats/template.md). parse() checks names and
// types, so evaluation fails only on overflow and division by zero. Any text gives an expression or
// invalid_argument with the column. Immutable and thread-safe.
class Expression {
 public:
  static Result<Expression> parse(std::string_view text, const ExpressionSymbols& symbols);

  ExpressionType type() const { return type_; }
  const std::string& text() const { return text_; }
  // Returns the parameters that it uses, in the order of their first use.
  const std::vector<std::string>& names() const { return names_; }

  // Returns the value. REQUIRES: `values` holds every name, with the type given to parse().
  Result<ParameterValue> evaluate(const std::map<std::string, ParameterValue, std::less<>>& values) const;
  // Return the value as an integer and as a flag. REQUIRES: type() is integer, or flag.
  Result<std::int64_t> evaluate_integer(
      const std::map<std::string, ParameterValue, std::less<>>& values) const;
  Result<bool> evaluate_flag(const std::map<std::string, ParameterValue, std::less<>>& values) const;

 private:
  friend class ExpressionParser;

  enum class Operation : std::uint8_t {
    push_constant,  // operand: an index into constants_
    push_name,      // operand: an index into names_
    add,
    subtract,
    multiply,
    divide,
    remainder,
    negate,
    logical_not,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    minimum,
    maximum,
    bytes,
    bits,
    jump,                // operand: the index of the next instruction
    jump_if_false,       // pops the flag
    jump_if_false_keep,  // keeps the flag if it jumps, so the right side of && is skipped
    jump_if_true_keep,
  };
  struct Instruction {
    Operation operation;
    std::size_t operand = 0;
  };

  Result<ParameterValue> apply(Operation operation, const ParameterValue& left,
                               const ParameterValue& right) const;
  Error failure(std::string reason) const;

  std::string text_;
  ExpressionType type_ = ExpressionType::integer;
  std::vector<std::string> names_;
  std::vector<ParameterValue> constants_;
  std::vector<Instruction> code_;  // of a stack machine, so that evaluation does not recurse
};

}  // namespace cubinet
