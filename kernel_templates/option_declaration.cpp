// SPDX-License-Identifier: Apache-2.0
#include "option_declaration.hpp"

#include "parameter_reader.hpp"
#include "template_declaration.hpp"

#include <cubinet/base/text.hpp>

#include <string_view>

namespace cubinet {
namespace {

using Values = std::map<std::string, ParameterValue, std::less<>>;

constexpr std::size_t kMaximumOptions = 256;
constexpr std::size_t kMaximumFlagBytes = std::size_t{1} << 20;  // of all flags of a kernel
constexpr std::string_view kMember = "options";

Error wrong(const JsonObject& object, const std::string& reason) {
  return object.error_at(kMember, "'options': " + reason);
}

// Parses one flag: "{{" and "}}" are braces, and "{" begins an expression.
class FlagReader {
 public:
  FlagReader(const JsonObject& object, std::string_view text, const ExpressionSymbols& symbols)
      : object_(object), text_(text), symbols_(symbols) {}

  Result<std::vector<OptionDeclaration::Part>> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      const bool is_brace = c == '{' || c == '}';
      if (is_brace && at_ < text_.size() && text_[at_] == c) {
        add(c);
        ++at_;
      } else if (c == '{') {
        CUBINET_TRY(expression());
      } else if (c == '}') {
        return wrong(object_,
                     "'" + printable(text_, kQuotedBytes) + "' has a '}' that closes nothing; write }}");
      } else {
        add(c);
      }
    }
    return std::move(parts_);
  }

 private:
  void add(char c) {
    if (parts_.empty() || parts_.back().value) parts_.emplace_back();
    parts_.back().text += c;
  }

  // Parses an expression up to its closing brace. Expressions contain no braces.
  Result<void> expression() {
    const std::string flag = printable(text_, kQuotedBytes);
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos)
      return wrong(object_, "'" + flag + "' has a '{' that nothing closes; write {{ for a brace");
    const std::string_view before = text_.substr(0, at_);
    if (before.find('=') == std::string_view::npos)
      return wrong(object_,
                   "'" + flag + "' has an expression in its name: only the value after '=' may have one");
    auto parsed = Expression::parse(text_.substr(at_, end - at_), symbols_);
    if (!parsed) return wrong(object_, "'" + flag + "': " + parsed.error().message);
    if (parts_.empty() || parts_.back().value) parts_.emplace_back();
    parts_.back().value = *std::move(parsed);
    at_ = end + 1;
    return {};
  }

  const JsonObject& object_;
  std::string_view text_;
  const ExpressionSymbols& symbols_;
  std::size_t at_ = 0;
  std::vector<OptionDeclaration::Part> parts_;
};

// Reads one option: a flag as text, or an object with a flag and its condition.
Result<OptionDeclaration> read_option(const JsonObject& declaration, const JsonValue& value,
                                      const ExpressionSymbols& symbols) {
  OptionDeclaration option;
  std::string flag;
  if (value.is_text()) {
    flag = value.text();
  } else if (value.is_object()) {
    CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, "an option"));
    CUBINET_TRY_ASSIGN(flag, object.text("flag"));
    CUBINET_TRY_ASSIGN(const std::string condition, object.text("if"));
    CUBINET_TRY_ASSIGN(option.condition,
                       typed_expression(object, "if", condition, ExpressionType::flag, symbols));
    CUBINET_TRY(object.finish());
  } else {
    return wrong(declaration, "an option is a flag as text, or an object with 'flag' and 'if'");
  }
  CUBINET_TRY_ASSIGN(option.parts, FlagReader(declaration, flag, symbols).run());
  return option;
}

// Returns the flag with "1" in place of each expression, to check its name.
std::string sample_of(const OptionDeclaration& option) {
  std::string flag;
  for (const OptionDeclaration::Part& part : option.parts)
    flag += part.text + (part.value ? "1" : "");
  return flag;
}

Result<void> check_sample(const JsonObject& declaration, const std::vector<std::string>& flags,
                          const std::vector<ParameterDeclaration>& parameters) {
  const auto given = parse_compiler_flags(flags);
  if (!given) return wrong(declaration, given.error().message);
  for (const ParameterDeclaration& parameter : parameters) {
    if (!parameter.macro.empty() && says_macro(*given, parameter.macro))
      return declaration.error_at(kMember,
                                  "'options' have the macro '" + parameter.macro + "' of a parameter");
  }
  return {};
}

Error too_many_bytes(std::string_view flag) {
  return Error{ErrorCode::invalid_argument,
               "the flags of 'options' have more than 1 MiB with these values, at '" +
                   printable(flag, kQuotedBytes) + "'",
               "give shorter values, or use fewer expressions"};
}

}  // namespace

std::vector<const Expression*> OptionDeclaration::expressions() const {
  std::vector<const Expression*> used;
  for (const Part& part : parts) {
    if (part.value) used.push_back(&*part.value);
  }
  if (condition) used.push_back(&*condition);
  return used;
}

Result<std::vector<OptionDeclaration>> read_options(JsonObject& declaration,
                                                    const std::vector<ParameterDeclaration>& parameters) {
  CUBINET_TRY_ASSIGN(const JsonValue::List* listed, declaration.list_or_empty(kMember));
  if (listed->size() > kMaximumOptions) return wrong(declaration, "at most 256 flags are allowed");
  ExpressionSymbols symbols;
  for (const ParameterDeclaration& parameter : parameters)
    symbols[parameter.name] = symbol_of(parameter);
  std::vector<OptionDeclaration> options;
  std::vector<std::string> unconditional;  // parsed together: a value may follow its flag (["-D", "N=4"])
  for (const JsonValue& value : *listed) {
    CUBINET_TRY_ASSIGN(OptionDeclaration option, read_option(declaration, value, symbols));
    if (option.condition) {
      CUBINET_TRY(check_sample(declaration, {sample_of(option)}, parameters));
    } else {
      unconditional.push_back(sample_of(option));
    }
    options.push_back(std::move(option));
  }
  CUBINET_TRY(check_sample(declaration, unconditional, parameters));
  return options;
}

Result<CompilerOptions> evaluate_options(const std::vector<OptionDeclaration>& declared,
                                         const Values& values) {
  std::vector<std::string> flags;
  std::size_t total = 0;
  for (const OptionDeclaration& option : declared) {
    if (option.condition) {
      CUBINET_TRY_ASSIGN(const bool given, option.condition->evaluate_flag(values));
      if (!given) continue;
    }
    std::string& flag = flags.emplace_back();
    for (const OptionDeclaration::Part& part : option.parts) {
      flag += part.text;
      if (!part.value) continue;
      CUBINET_TRY_ASSIGN(const ParameterValue value, part.value->evaluate(values));
      flag += to_string(value);
      if (total + flag.size() > kMaximumFlagBytes) return too_many_bytes(flag);
    }
    total += flag.size();
    if (total > kMaximumFlagBytes) return too_many_bytes(flag);
  }
  return parse_compiler_flags(flags);
}

}  // namespace cubinet
