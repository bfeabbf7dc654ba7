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

// `opaque`: a float, double or list, which can be compared and no more.
enum class ExpressionType { integer, flag, text, opaque };

std::string_view to_string(ExpressionType type);

// The names that an expression may use and what they are. `data_type` marks text that bytes() and bits()
// accept.
struct ExpressionSymbol {
  ExpressionType type = ExpressionType::integer;
  bool data_type = false;
};
using ExpressionSymbols = std::map<std::string, ExpressionSymbol, std::less<>>;

// A formula over a template's parameters, as docs/formats/template.md defines it. Parsed once: names and
// types are checked then, so that what remains for evaluation is arithmetic, in which overflow and division
// by zero are errors. Any text gives an expression or invalid_argument with the column. Immutable and
// thread-safe.
class Expression {
 public:
  static Result<Expression> parse(std::string_view text, const ExpressionSymbols& symbols);

  ExpressionType type() const { return type_; }
  const std::string& text() const { return text_; }
  // The parameters it uses, each once, in the order of their first use.
  const std::vector<std::string>& names() const { return names_; }

  // REQUIRES: `values` holds every name, with the type that parse() was told.
  Result<ParameterValue> evaluate(const std::map<std::string, ParameterValue, std::less<>>& values) const;
  // REQUIRES: type() is integer, or flag.
  Result<std::int64_t> evaluate_integer(
      const std::map<std::string, ParameterValue, std::less<>>& values) const;
  Result<bool> evaluate_flag(const std::map<std::string, ParameterValue, std::less<>>& values) const;

 private:
  friend class ExpressionParser;

  enum class Operation : std::uint8_t {
    push_constant,  // operand: index into constants_
    push_name,      // operand: index into names_
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
    jump,                // operand: the next instruction's index
    jump_if_false,       // takes the flag off the stack
    jump_if_false_keep,  // leaves it there when it jumps: the right side of && is not evaluated
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
  std::vector<Instruction>
      code_;  // for a stack machine: evaluation needs no recursion, however long the text
};

}  // namespace cubinet
