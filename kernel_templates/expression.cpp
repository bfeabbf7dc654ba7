// SPDX-License-Identifier: Apache-2.0
#include "expression.hpp"

#include <cubinet/spec/data_type.hpp>

#include <limits>

namespace cubinet {

std::string_view to_string(ExpressionType type) {
  switch (type) {
    case ExpressionType::integer:
      return "integer";
    case ExpressionType::flag:
      return "true or false";
    case ExpressionType::text:
      return "text";
    case ExpressionType::opaque:
      return "a float, double or list";
  }
  return "integer";
}

Error Expression::failure(std::string reason) const {
  return Error{ErrorCode::invalid_argument,
               "the expression '" + text_ + "' cannot be computed: " + std::move(reason)};
}

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

Result<std::int64_t> bits_of_named(const std::string& name, std::int64_t divisor) {
  const auto type = parse_data_type(name);
  if (!type) return Error{ErrorCode::invalid_argument, "'" + name + "' is no data type"};
  const std::int64_t bits = bits_of(*type);
  if (bits % divisor != 0) {
    return Error{ErrorCode::invalid_argument, "'" + name + "' has " + std::to_string(bits) +
                                                  " bits, no whole number of bytes; use bits()"};
  }
  return bits / divisor;
}

bool in_order(const ParameterValue& left, const ParameterValue& right, bool or_equal) {
  const std::int64_t a = std::get<std::int64_t>(left);
  const std::int64_t b = std::get<std::int64_t>(right);
  return or_equal ? a <= b : a < b;
}

}  // namespace

// An operation with one operand gets it as `left` and as `right`.
Result<ParameterValue> Expression::apply(Operation operation, const ParameterValue& left,
                                         const ParameterValue& right) const {
  const auto integer = [](const ParameterValue& value) { return std::get<std::int64_t>(value); };
  std::int64_t out = 0;
  bool overflow = false;
  switch (operation) {
    case Operation::add:
      overflow = __builtin_add_overflow(integer(left), integer(right), &out);
      break;
    case Operation::subtract:
      overflow = __builtin_sub_overflow(integer(left), integer(right), &out);
      break;
    case Operation::multiply:
      overflow = __builtin_mul_overflow(integer(left), integer(right), &out);
      break;
    case Operation::negate:
      overflow = __builtin_sub_overflow(std::int64_t{0}, integer(left), &out);
      break;
    case Operation::divide:
    case Operation::remainder:
      if (integer(right) == 0) return failure("division by zero");
      overflow = integer(left) == kLowest && integer(right) == -1;
      if (!overflow) {
        out =
            operation == Operation::divide ? integer(left) / integer(right) : integer(left) % integer(right);
      }
      break;
    case Operation::minimum:
      out = std::min(integer(left), integer(right));
      break;
    case Operation::maximum:
      out = std::max(integer(left), integer(right));
      break;
    case Operation::logical_not:
      return ParameterValue(!std::get<bool>(left));
    case Operation::equal:
      return ParameterValue(left == right);
    case Operation::not_equal:
      return ParameterValue(left != right);
    case Operation::less:
      return ParameterValue(in_order(left, right, false));
    case Operation::less_equal:
      return ParameterValue(in_order(left, right, true));
    case Operation::greater:
      return ParameterValue(in_order(right, left, false));
    case Operation::greater_equal:
      return ParameterValue(in_order(right, left, true));
    case Operation::bytes:
    case Operation::bits: {
      auto size = bits_of_named(std::get<std::string>(left), operation == Operation::bytes ? 8 : 1);
      if (!size) return failure(size.error().message);
      return ParameterValue(*size);
    }
    default:
      return Error{ErrorCode::internal, "an expression's code holds an operation of another kind"};
  }
  if (overflow) return failure("the result exceeds 64 bits");
  return ParameterValue(out);
}

Result<ParameterValue> Expression::evaluate(
    const std::map<std::string, ParameterValue, std::less<>>& values) const {
  std::vector<ParameterValue> stack;
  const auto pop = [&stack] {
    ParameterValue value = std::move(stack.back());
    stack.pop_back();
    return value;
  };
  for (std::size_t at = 0; at < code_.size(); ++at) {
    const Instruction& instruction = code_[at];
    switch (instruction.operation) {
      case Operation::push_constant:
        stack.push_back(constants_[instruction.operand]);
        break;
      case Operation::push_name: {
        const auto found = values.find(names_[instruction.operand]);
        if (found == values.end()) {
          return Error{ErrorCode::internal,
                       "'" + text_ + "' is evaluated without '" + names_[instruction.operand] + "'"};
        }
        stack.push_back(found->second);
        break;
      }
      case Operation::jump:
        at = instruction.operand - 1;
        break;
      case Operation::jump_if_false:
        if (!std::get<bool>(pop())) at = instruction.operand - 1;
        break;
      case Operation::jump_if_false_keep:
      case Operation::jump_if_true_keep:
        if (std::get<bool>(stack.back()) == (instruction.operation == Operation::jump_if_true_keep)) {
          at = instruction.operand - 1;
        } else {
          stack.pop_back();
        }
        break;
      case Operation::negate:
      case Operation::logical_not:
      case Operation::bytes:
      case Operation::bits: {
        const ParameterValue operand = pop();
        CUBINET_TRY_ASSIGN(ParameterValue value, apply(instruction.operation, operand, operand));
        stack.push_back(std::move(value));
        break;
      }
      default: {
        const ParameterValue right = pop();
        const ParameterValue left = pop();
        CUBINET_TRY_ASSIGN(ParameterValue value, apply(instruction.operation, left, right));
        stack.push_back(std::move(value));
      }
    }
  }
  return pop();
}

Result<std::int64_t> Expression::evaluate_integer(
    const std::map<std::string, ParameterValue, std::less<>>& values) const {
  CUBINET_TRY_ASSIGN(const ParameterValue value, evaluate(values));
  return std::get<std::int64_t>(value);
}

Result<bool> Expression::evaluate_flag(
    const std::map<std::string, ParameterValue, std::less<>>& values) const {
  CUBINET_TRY_ASSIGN(const ParameterValue value, evaluate(values));
  return std::get<bool>(value);
}

}  // namespace cubinet
