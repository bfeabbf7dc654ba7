// SPDX-License-Identifier: Apache-2.0
#include "template_declaration.hpp"

#include "names.hpp"
#include "parameter_check.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/spec/data_type.hpp>

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

using nlohmann::json;

constexpr std::size_t kMaximumSourceBytes = std::size_t{16} << 20;
constexpr std::size_t kMaximumItems = 256;  // parameters, values, constraints or kernels
constexpr std::string_view kMarker = "cubinet-template";

struct Declared {
  std::string_view text;   // the JSON
  std::size_t offset = 0;  // of it in the source
};

Error no_declaration() {
  return Error{
      ErrorCode::invalid_argument, "it does not begin with a template declaration",
      "a template begins with a comment /* cubinet-template { ... } */, after other comments at most"};
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

Result<Declared> find_declaration(std::string_view source) {
  std::size_t at = skip_space(source, 0);
  while (at < source.size()) {
    if (source.substr(at).starts_with("//")) {
      at = skip_space(source, std::min(source.find('\n', at), source.size()));
      continue;
    }
    if (!source.substr(at).starts_with("/*")) return no_declaration();
    const std::size_t end = source.find("*/", at + 2);
    if (end == std::string_view::npos) {
      return Error{ErrorCode::invalid_argument, "the comment at its beginning has no end"};
    }
    const std::size_t word = skip_space(source, at + 2);
    if (word < end && source.substr(word, end - word).starts_with(kMarker)) {
      const std::size_t begin = word + kMarker.size();
      return Declared{source.substr(begin, end - begin), begin};
    }
    at = skip_space(source, end + 2);
  }
  return no_declaration();
}

Result<std::string> identifier(JsonObject& object, std::string_view what) {
  CUBINET_TRY_ASSIGN(std::string name, object.text("name"));
  if (is_identifier(name)) return name;
  return object.error("'" + printable(name, kQuotedBytes) + "' cannot name a " + std::string(what) +
                      ": a name is [a-z][a-z0-9_]*, at most 64 characters and no word of C++");
}

Result<ParameterType> parameter_type(JsonObject& object) {
  CUBINET_TRY_ASSIGN(const std::string name, object.text("type"));
  for (const ParameterType type :
       {ParameterType::integer, ParameterType::flag, ParameterType::data_type, ParameterType::choice}) {
    if (to_string(type) == name) return type;
  }
  return object.error("'" + printable(name, kQuotedBytes) + "' is no type: int, bool, dtype and choice are");
}

Result<ParameterValue> value_of(const JsonObject& object, ParameterType type, const json& value) {
  switch (type) {
    case ParameterType::integer:
      if (value.is_number_integer() &&
          !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
        return ParameterValue(value.get<std::int64_t>());
      }
      return object.error("an int's values are 64-bit integers");
    case ParameterType::flag:
      if (value.is_boolean()) return ParameterValue(value.get<bool>());
      return object.error("a bool's value is true or false");
    case ParameterType::data_type:
      if (value.is_string() && parse_data_type(value.get_ref<const std::string&>())) {
        return ParameterValue(value.get<std::string>());
      }
      return object.error("a dtype's values are names of data types");
    case ParameterType::choice:
      if (value.is_string() && is_identifier(value.get_ref<const std::string&>())) {
        return ParameterValue(value.get<std::string>());
      }
      return object.error("a choice's values are names like [a-z][a-z0-9_]* and no words of C++");
  }
  return object.error("its type is unknown");
}

Result<void> read_values(JsonObject& object, ParameterDeclaration& parameter) {
  CUBINET_TRY_ASSIGN(const json* values, object.array_or_empty("values"));
  if (values->size() > kMaximumItems) return object.error("it has more than 256 values");
  for (const json& value : *values) {
    CUBINET_TRY_ASSIGN(ParameterValue parsed, value_of(object, parameter.type, value));
    if (std::find(parameter.values.begin(), parameter.values.end(), parsed) != parameter.values.end()) {
      return object.error("the value '" + to_string(parsed) + "' is repeated");
    }
    parameter.values.push_back(std::move(parsed));
  }
  const bool named = parameter.type == ParameterType::data_type || parameter.type == ParameterType::choice;
  if (parameter.values.empty() && (named || object.has("values"))) return object.error("it has no values");
  return {};
}

Result<void> read_range(JsonObject& object, ParameterDeclaration& parameter) {
  const bool ranged = object.has("minimum") || object.has("maximum") || object.has("multiple_of");
  if (!ranged) return {};
  if (!parameter.values.empty()) return object.error("it has both values and a range");
  CUBINET_TRY_ASSIGN(parameter.minimum, object.integer_or("minimum", INT64_MIN));
  CUBINET_TRY_ASSIGN(parameter.maximum, object.integer_or("maximum", INT64_MAX));
  CUBINET_TRY_ASSIGN(parameter.multiple_of, object.integer_or("multiple_of", 1));
  if (parameter.minimum > parameter.maximum) return object.error("its minimum exceeds its maximum");
  if (parameter.multiple_of < 1) return object.error("'multiple_of' is below 1");
  return {};
}

Result<ParameterDeclaration> read_parameter(const json& value) {
  const std::string where =
      value.is_object() && value.contains("name") && value["name"].is_string()
          ? "parameter '" + printable(value["name"].get_ref<const std::string&>(), kQuotedBytes) + "'"
          : "a parameter";
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, where));
  ParameterDeclaration parameter;
  CUBINET_TRY_ASSIGN(parameter.name, identifier(object, "parameter"));
  CUBINET_TRY_ASSIGN(parameter.type, parameter_type(object));
  CUBINET_TRY_ASSIGN(parameter.summary, object.text_or("summary", ""));
  if (parameter.type != ParameterType::flag) {
    CUBINET_TRY(read_values(object, parameter));
  }
  if (parameter.type == ParameterType::integer) {
    CUBINET_TRY(read_range(object, parameter));
  }
  if (object.has("default")) {
    CUBINET_TRY_ASSIGN(const json* given, object.get("default"));
    CUBINET_TRY_ASSIGN(parameter.default_value, value_of(object, parameter.type, *given));
    if (auto checked = check_parameter_value(parameter, *parameter.default_value); !checked) {
      return object.error("its default is not allowed: " + checked.error().to_line());
    }
  }
  CUBINET_TRY(object.finish());
  return parameter;
}

ExpressionSymbols symbols_of(const std::vector<ParameterDeclaration>& parameters) {
  ExpressionSymbols symbols;
  for (const ParameterDeclaration& parameter : parameters) {
    ExpressionSymbol& symbol = symbols[parameter.name];
    if (parameter.type == ParameterType::flag) symbol.type = ExpressionType::flag;
    if (parameter.type == ParameterType::data_type || parameter.type == ParameterType::choice) {
      symbol.type = ExpressionType::text;
    }
    symbol.data_type = parameter.type == ParameterType::data_type;
  }
  return symbols;
}

Result<ConstraintDeclaration> read_constraint(const json& value, const ExpressionSymbols& symbols) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, "a constraint"));
  CUBINET_TRY_ASSIGN(const std::string require, object.text("require"));
  CUBINET_TRY_ASSIGN(Expression expression,
                     typed_expression(object, "require", require, ExpressionType::flag, symbols));
  CUBINET_TRY_ASSIGN(std::string message, object.text("message"));
  CUBINET_TRY(object.finish());
  return ConstraintDeclaration{std::move(expression), std::move(message)};
}

// An expression as a string, or an integer as itself.
Result<Expression> expression_member(JsonObject& object, std::string_view member, const json& value,
                                     const ExpressionSymbols& symbols) {
  if (!value.is_string() && !value.is_number_integer()) {
    return object.error("'" + std::string(member) + "' is neither an expression in quotes nor an integer");
  }
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return typed_expression(object, member, text, ExpressionType::integer, symbols);
}

Result<void> read_cluster(JsonObject& object, const ExpressionSymbols& symbols, KernelDeclaration& kernel) {
  CUBINET_TRY_ASSIGN(const json* cluster, object.array_or_empty("cluster"));
  if (cluster->empty() && !object.has("cluster")) return {};
  if (cluster->size() != 3) return object.error("'cluster' holds three dimensions");
  for (const json& dimension : *cluster) {
    CUBINET_TRY_ASSIGN(kernel.cluster.emplace_back(),
                       expression_member(object, "cluster", dimension, symbols));
  }
  return {};
}

bool is_name_expression(std::string_view text) {
  return !text.empty() && text.size() <= 1024 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

Result<KernelDeclaration> read_kernel(const json& value, const ExpressionSymbols& symbols) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, "a kernel"));
  KernelDeclaration kernel;
  CUBINET_TRY_ASSIGN(kernel.name, identifier(object, "kernel"));
  if (object.has("symbol_expression")) {
    CUBINET_TRY_ASSIGN(kernel.symbol_expression, object.text("symbol_expression"));
    if (!is_name_expression(kernel.symbol_expression)) {
      return object.error("'symbol_expression' of '" + kernel.name + "' is no C++ name");
    }
  }
  CUBINET_TRY_ASSIGN(const json* threads, object.get("threads"));
  CUBINET_TRY_ASSIGN(kernel.threads, expression_member(object, "threads", *threads, symbols));
  const json none = 0;
  const json* shared = &none;
  if (object.has("dynamic_shared_bytes")) {
    CUBINET_TRY_ASSIGN(shared, object.get("dynamic_shared_bytes"));
  }
  CUBINET_TRY_ASSIGN(kernel.dynamic_shared_bytes,
                     expression_member(object, "dynamic_shared_bytes", *shared, symbols));
  // What a kernel can take by value: 4 KiB, and 32764 bytes since CUDA 12.1 on 7.0 and later.
  CUBINET_TRY_ASSIGN(const std::int64_t parameter_bytes, object.integer_or("parameter_bytes", 0));
  if (parameter_bytes < 0 || parameter_bytes > 32764)
    return object.error("'parameter_bytes' is not within 0 to 32764");
  kernel.parameter_bytes = static_cast<std::uint32_t>(parameter_bytes);
  CUBINET_TRY(read_cluster(object, symbols, kernel));
  CUBINET_TRY_ASSIGN(kernel.programmatic_launch, object.flag_or("programmatic_launch", false));
  CUBINET_TRY_ASSIGN(kernel.cooperative, object.flag_or("cooperative", false));
  CUBINET_TRY(object.finish());
  return kernel;
}

// Everything that the generated header declares has a name of its own.
Result<void> check_names(const TemplateDeclaration& declaration) {
  std::set<std::string> names;
  std::string repeated;
  const auto add = [&](const std::string& name) {
    if (!names.insert(name).second && repeated.empty()) repeated = name;
  };
  for (const ParameterDeclaration& parameter : declaration.parameters) {
    add(parameter.name);
    if (parameter.type == ParameterType::choice) add(parameter.name + "_values");
  }
  for (const KernelDeclaration& kernel : declaration.kernels) {
    add(kernel.name + "_threads");
    add(kernel.name + "_shared_bytes");
  }
  if (repeated.empty()) return {};
  return Error{ErrorCode::invalid_argument,
               "the name '" + repeated +
                   "' would be declared twice: a parameter 'x' that "
                   "is a choice declares x_values, a kernel 'k' k_threads and k_shared_bytes"};
}

Result<void> read_lists(JsonObject& object, TemplateDeclaration& declaration) {
  CUBINET_TRY_ASSIGN(const json* parameters, object.array_or_empty("parameters"));
  CUBINET_TRY_ASSIGN(const json* constraints, object.array_or_empty("constraints"));
  CUBINET_TRY_ASSIGN(const json* kernels, object.array_or_empty("kernels"));
  if (std::max({parameters->size(), constraints->size(), kernels->size()}) > kMaximumItems) {
    return object.error("it declares more than 256 parameters, constraints or kernels");
  }
  if (kernels->empty()) return object.error("it declares no kernel");
  for (const json& parameter : *parameters) {
    CUBINET_TRY_ASSIGN(declaration.parameters.emplace_back(), read_parameter(parameter));
  }
  const ExpressionSymbols symbols = symbols_of(declaration.parameters);
  for (const json& constraint : *constraints) {
    CUBINET_TRY_ASSIGN(ConstraintDeclaration parsed, read_constraint(constraint, symbols));
    declaration.constraints.push_back(std::move(parsed));
  }
  for (const json& kernel : *kernels) {
    CUBINET_TRY_ASSIGN(declaration.kernels.emplace_back(), read_kernel(kernel, symbols));
  }
  if (object.has("row")) {
    CUBINET_TRY_ASSIGN(const json* row, object.get("row"));
    CUBINET_TRY_ASSIGN(declaration.row, read_row(*row, symbols));
  }
  return check_names(declaration);
}

Result<void> read_globals(JsonObject& object, TemplateDeclaration& declaration) {
  CUBINET_TRY_ASSIGN(const json* listed, object.array_or_empty("globals"));
  for (const json& name : *listed) {
    auto& globals = declaration.globals;
    if (!name.is_string() || !is_name_expression(name.get<std::string>()) || globals.size() == kMaximumItems)
      return object.error("'globals' are at most 256 C++ names of variables");
    globals.push_back(name.get<std::string>());
    if (std::find(globals.begin(), globals.end() - 1, globals.back()) != globals.end() - 1)
      return object.error("the global '" + globals.back() + "' is named twice");
  }
  return {};
}

Result<void> read_options(JsonObject& object, TemplateDeclaration& declaration) {
  CUBINET_TRY_ASSIGN(const json* listed, object.array_or_empty("options"));
  std::vector<std::string> flags;
  for (const json& flag : *listed) {
    if (!flag.is_string() || flags.size() >= kMaximumItems)
      return object.error("'options' are at most 256 of the compiler's flags, as text");
    flags.push_back(flag.get<std::string>());
  }
  auto options = parse_compiler_flags(flags);
  if (!options) return object.error("'options': " + options.error().message);
  declaration.options = *std::move(options);
  return {};
}

Result<TemplateDeclaration> read_declaration(const json& value) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, "the declaration"));
  TemplateDeclaration declaration;
  CUBINET_TRY_ASSIGN(declaration.name, identifier(object, "template"));
  CUBINET_TRY_ASSIGN(const std::int64_t interface_version, object.integer("interface"));
  if (interface_version < 1 || interface_version > INT32_MAX)
    return object.error("'interface' is not within 1 to 2^31-1");
  declaration.interface_version = static_cast<std::uint32_t>(interface_version);
  CUBINET_TRY_ASSIGN(declaration.summary, object.text_or("summary", ""));
  CUBINET_TRY_ASSIGN(const std::string minimum, object.text_or("minimum_target", "sm_75"));
  auto target = SmTarget::parse(minimum);
  if (!target) return object.error("'minimum_target': " + target.error().message);
  declaration.minimum_target = *target;
  CUBINET_TRY(read_lists(object, declaration));
  CUBINET_TRY(read_globals(object, declaration));
  CUBINET_TRY(read_options(object, declaration));
  CUBINET_TRY(object.finish());
  return declaration;
}

}  // namespace

Result<Expression> typed_expression(const JsonObject& object, std::string_view member,
                                    const std::string& text, ExpressionType type,
                                    const ExpressionSymbols& symbols) {
  auto expression = Expression::parse(text, symbols);
  if (!expression) return object.error("'" + std::string(member) + "': " + expression.error().message);
  if (expression->type() != type) {
    return object.error("'" + std::string(member) + "' has to be " + std::string(to_string(type)) +
                        " and is " + std::string(to_string(expression->type())));
  }
  return expression;
}

Result<TemplateDeclaration> parse_template_declaration(std::string_view source, std::string_view origin) {
  const std::string file = printable(origin, kQuotedBytes);
  const auto placed = [&file](Error error, std::size_t line) {
    error.message = file + (line == 0 ? "" : ":" + std::to_string(line)) + ": " + error.message;
    error.native = 0;
    return error;
  };
  if (source.size() > kMaximumSourceBytes) {
    return placed(Error{ErrorCode::invalid_argument, "a template's source is at most 16 MiB"}, 0);
  }
  if (source.find('\0') != std::string_view::npos) {
    return placed(
        Error{ErrorCode::invalid_argument, "it holds a NUL character, at which the compiler would stop"}, 0);
  }
  auto declared = find_declaration(source);
  if (!declared) return placed(std::move(declared).error(), 0);
  const std::string_view before = source.substr(0, declared->offset);
  const std::size_t first_line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  auto value = parse_strict_json(declared->text);
  if (!value) {
    return placed(value.error(), first_line + static_cast<std::size_t>(value.error().native) - 1);
  }
  auto declaration = read_declaration(*value);
  if (!declaration) return placed(std::move(declaration).error(), first_line);
  return declaration;
}

}  // namespace cubinet
