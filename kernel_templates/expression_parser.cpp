// SPDX-License-Identifier: Apache-2.0
#include "expression.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumLength = 4096;
constexpr int kMaximumDepth = 64;  // of nesting, because the parser recurses

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

// A recursive-descent parser with precedence climbing. It emits code while it parses and returns
// the type of each part.
//
//   <expression> ::= <binary> [ '?' <expression> ':' <expression> ]
//   <binary>     ::= <unary> { operator <unary> }                      ; C's precedence
//   <unary>      ::= ( '-' | '!' ) <unary> | <primary>
//   <primary>    ::= integer | 'text' | name | function '(' … ')' | '(' <expression> ')'
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const ExpressionSymbols& symbols)
      : text_(text), symbols_(symbols) {}

  Result<Expression> run() {
    out_.text_ = std::string(text_.substr(0, kMaximumLength));
    if (text_.size() > kMaximumLength) return fail("it is longer than 4096 characters");
    CUBINET_TRY_ASSIGN(out_.type_, ternary());
    skip_space();
    if (at_ != text_.size()) return fail("an operator is expected");
    return std::move(out_);
  }

 private:
  using Type = ExpressionType;
  using Operation = Expression::Operation;

  struct BinaryOperator {
    std::string_view spelling;
    int precedence;
    Operation operation;
    enum class Operands { integers, equal_types, flags } operands;
    Type result;
  };
  // Longer spellings precede their prefixes.
  static constexpr std::array<BinaryOperator, 13> kBinaryOperators = {{
      {"||", 1, Operation::jump_if_true_keep, BinaryOperator::Operands::flags, Type::flag},
      {"&&", 2, Operation::jump_if_false_keep, BinaryOperator::Operands::flags, Type::flag},
      {"==", 3, Operation::equal, BinaryOperator::Operands::equal_types, Type::flag},
      {"!=", 3, Operation::not_equal, BinaryOperator::Operands::equal_types, Type::flag},
      {"<=", 4, Operation::less_equal, BinaryOperator::Operands::integers, Type::flag},
      {">=", 4, Operation::greater_equal, BinaryOperator::Operands::integers, Type::flag},
      {"<", 4, Operation::less, BinaryOperator::Operands::integers, Type::flag},
      {">", 4, Operation::greater, BinaryOperator::Operands::integers, Type::flag},
      {"+", 5, Operation::add, BinaryOperator::Operands::integers, Type::integer},
      {"-", 5, Operation::subtract, BinaryOperator::Operands::integers, Type::integer},
      {"*", 6, Operation::multiply, BinaryOperator::Operands::integers, Type::integer},
      {"/", 6, Operation::divide, BinaryOperator::Operands::integers, Type::integer},
      {"%", 6, Operation::remainder, BinaryOperator::Operands::integers, Type::integer},
  }};

  Error fail(const std::string& reason) const {
    return Error{ErrorCode::invalid_argument, "the expression '" + out_.text_ + "' is wrong at column " +
                                                  std::to_string(at_ + 1) + ": " + reason};
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
  }
  bool accept(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  Result<void> expect(std::string_view token) {
    if (!accept(token)) return fail("'" + std::string(token) + "' is expected");
    return {};
  }
  Result<void> require(Type is, Type wanted, std::string_view what) const {
    if (is == wanted) return {};
    return fail(std::string(what) + " has to be " + std::string(to_string(wanted)) + " and is " +
                std::string(to_string(is)));
  }
  std::size_t emit(Operation operation, std::size_t operand = 0) {
    out_.code_.push_back({operation, operand});
    return out_.code_.size() - 1;
  }
  void land(std::size_t jump) { out_.code_[jump].operand = out_.code_.size(); }

  // Increases the nesting depth during its lifetime.
  struct Nesting {
    int& depth;
    explicit Nesting(int& counter) : depth(counter) { ++depth; }
    ~Nesting() { --depth; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
  };

  Result<Type> ternary() {
    const Nesting nesting(depth_);
    if (depth_ > kMaximumDepth) return fail("it is nested too deeply");
    CUBINET_TRY_ASSIGN(const Type condition, binary(1));
    if (!accept("?")) return condition;
    CUBINET_TRY(require(condition, Type::flag, "the text before '?'"));
    const std::size_t to_else = emit(Operation::jump_if_false);
    CUBINET_TRY_ASSIGN(const Type first, ternary());
    const std::size_t to_end = emit(Operation::jump);
    land(to_else);
    CUBINET_TRY(expect(":"));
    CUBINET_TRY_ASSIGN(const Type second, ternary());
    land(to_end);
    CUBINET_TRY(require(second, first, "what follows ':'"));
    return first;
  }

  const BinaryOperator* accept_operator(int lowest_precedence) {
    skip_space();
    for (const BinaryOperator& candidate : kBinaryOperators) {
      if (!text_.substr(at_).starts_with(candidate.spelling)) continue;
      if (candidate.precedence < lowest_precedence) return nullptr;
      at_ += candidate.spelling.size();
      return &candidate;
    }
    return nullptr;
  }

  Result<Type> binary(int lowest_precedence) {
    CUBINET_TRY_ASSIGN(Type left, unary());
    while (const BinaryOperator* found = accept_operator(lowest_precedence)) {
      using Operands = BinaryOperator::Operands;
      const std::string side = "of the operands of '" + std::string(found->spelling) + "' the ";
      const Type wanted = found->operands == Operands::integers ? Type::integer
                          : found->operands == Operands::flags  ? Type::flag
                                                                : left;
      CUBINET_TRY(require(left, wanted, side + "left one"));
      // && and || may skip their right side. Other operators run after it.
      const bool short_circuit = found->operands == Operands::flags;
      const std::size_t jump = short_circuit ? emit(found->operation) : 0;
      CUBINET_TRY_ASSIGN(const Type right, binary(found->precedence + 1));
      CUBINET_TRY(require(right, wanted, side + "right one"));
      if (short_circuit) {
        land(jump);
      } else {
        emit(found->operation);
      }
      left = found->result;
    }
    return left;
  }

  Result<Type> unary() {
    const Nesting nesting(depth_);
    if (depth_ > kMaximumDepth) return fail("it is nested too deeply");
    if (accept("-")) {
      CUBINET_TRY_ASSIGN(const Type operand, unary());
      CUBINET_TRY(require(operand, Type::integer, "the operand of '-'"));
      emit(Operation::negate);
      return Type::integer;
    }
    if (accept("!")) {
      CUBINET_TRY_ASSIGN(const Type operand, unary());
      CUBINET_TRY(require(operand, Type::flag, "the operand of '!'"));
      emit(Operation::logical_not);
      return Type::flag;
    }
    return primary();
  }

  Result<Type> primary() {
    skip_space();
    if (at_ == text_.size()) return fail("it ends where a value is expected");
    const char c = text_[at_];
    if (is_digit(c)) return number();
    if (c == '\'') return quoted_text();
    if (is_name_start(c)) return name_or_function();
    if (!accept("(")) return fail("a value is expected");
    CUBINET_TRY_ASSIGN(const Type inner, ternary());
    CUBINET_TRY(expect(")"));
    return inner;
  }

  Type constant(ParameterValue value, Type type) {
    out_.constants_.push_back(std::move(value));
    emit(Operation::push_constant, out_.constants_.size() - 1);
    return type;
  }

  Result<Type> number() {
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) return fail("the number exceeds 64 bits");
    at_ += static_cast<std::size_t>(end - begin);
    if (at_ < text_.size() && is_name_start(text_[at_])) return fail("a number is followed by a letter");
    return constant(ParameterValue(value), Type::integer);
  }

  Result<Type> quoted_text() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return fail("the quotation has no end");
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return constant(ParameterValue(value), Type::text);
  }

  std::string_view name() {
    skip_space();
    std::size_t end = at_;
    while (end < text_.size() && (is_name_start(text_[end]) || is_digit(text_[end])))
      ++end;
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
  }

  Result<Type> name_or_function() {
    const std::size_t begin = at_;
    const std::string_view found = name();
    if (found == "true" || found == "false") return constant(ParameterValue(found == "true"), Type::flag);
    if (accept("(")) return function(begin, found);
    const auto symbol = symbols_.find(found);
    if (symbol == symbols_.end()) return unknown_parameter(begin, found);
    emit(Operation::push_name, index_of(found));
    return symbol->second.type;
  }

  Result<Type> unknown_parameter(std::size_t column, std::string_view found) {
    std::vector<std::string> names;
    for (const auto& each : symbols_)
      names.emplace_back(each.first);
    const std::vector<std::string> near = nearest_names(found, names);
    return unknown(column, "no parameter is named '" + std::string(found) + "'" +
                               (near.empty() ? "" : "; did you mean '" + near.front() + "'?"));
  }

  Result<Type> unknown(std::size_t column, std::string reason) {
    at_ = column;
    return fail(std::move(reason));
  }

  std::size_t index_of(std::string_view name_used) {
    auto& names = out_.names_;
    const auto found = std::find(names.begin(), names.end(), name_used);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    names.emplace_back(name_used);
    return names.size() - 1;
  }

  Result<Type> function(std::size_t column, std::string_view function_name) {
    if (function_name == "bytes" || function_name == "bits") {
      const std::size_t argument_column = (skip_space(), at_);
      const std::string_view argument = name();
      const auto symbol = symbols_.find(argument);
      if (symbol == symbols_.end() || !symbol->second.data_type) {
        return unknown(argument_column,
                       std::string(function_name) + "() takes the name of a dtype parameter");
      }
      emit(Operation::push_name, index_of(argument));
      emit(function_name == "bytes" ? Operation::bytes : Operation::bits);
      CUBINET_TRY(expect(")"));
      return Type::integer;
    }
    if (function_name != "min" && function_name != "max") {
      return unknown(
          column, "there is no function '" + std::string(function_name) + "'; known: min, max, bytes, bits");
    }
    CUBINET_TRY_ASSIGN(const Type first, ternary());
    CUBINET_TRY(expect(","));
    CUBINET_TRY_ASSIGN(const Type second, ternary());
    CUBINET_TRY(expect(")"));
    CUBINET_TRY(require(first, Type::integer, "the first argument"));
    CUBINET_TRY(require(second, Type::integer, "the second argument"));
    emit(function_name == "min" ? Operation::minimum : Operation::maximum);
    return Type::integer;
  }

  std::string_view text_;
  const ExpressionSymbols& symbols_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression out_;
};

Result<Expression> Expression::parse(std::string_view text, const ExpressionSymbols& symbols) {
  return ExpressionParser(text, symbols).run();
}

}  // namespace cubinet
