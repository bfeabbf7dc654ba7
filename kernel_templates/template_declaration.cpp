// SPDX-License-Identifier: Apache-2.0
#include "template_declaration.hpp"

#include "declaration_base.hpp"
#include "linked_parts.hpp"
#include "names.hpp"
#include "parameter_reader.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/parameter_words.hpp>

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumItems = 256;  // parameters, values, constraints or kernels
constexpr std::string_view kMarker = "cubinet-template";
constexpr std::string_view kSourceEnding = ".cu";

struct Declared {
  std::string_view text;   // the JSON
  std::size_t offset = 0;  // its position in the source
  std::string_view code;   // the source after it
};

Error no_declaration() {
  return Error{
      ErrorCode::invalid_argument, "it does not begin with a template declaration",
      "a template begins with a comment /* cubinet-template { ... } */, after other comments at most, or "
      "has its declaration beside it, in a .cubinet.json file"};
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
      return Declared{source.substr(begin, end - begin), begin, source.substr(end)};
    }
    at = skip_space(source, end + 2);
  }
  return no_declaration();
}

Result<ConstraintDeclaration> read_constraint(const JsonValue& value, const ExpressionSymbols& symbols) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, "a constraint"));
  CUBINET_TRY_ASSIGN(const std::string require, object.text("require"));
  CUBINET_TRY_ASSIGN(Expression expression,
                     typed_expression(object, "require", require, ExpressionType::flag, symbols));
  CUBINET_TRY_ASSIGN(std::string message, object.text("message"));
  CUBINET_TRY(object.finish());
  return ConstraintDeclaration{std::move(expression), std::move(message)};
}

// Reads an expression as a string, or a constant integer.
Result<Expression> expression_member(JsonObject& object, std::string_view member, const JsonValue& value,
                                     const ExpressionSymbols& symbols) {
  if (!value.is_text() && !value.is_integer()) {
    return object.error_at(member,
                           "'" + std::string(member) + "' is neither an expression in quotes nor an integer");
  }
  const std::string text = value.is_text() ? value.text() : value.literal();
  return typed_expression(object, member, text, ExpressionType::integer, symbols);
}

Result<void> read_cluster(JsonObject& object, const ExpressionSymbols& symbols, KernelDeclaration& kernel) {
  CUBINET_TRY_ASSIGN(const JsonValue::List* cluster, object.list_or_empty("cluster"));
  if (cluster->empty() && !object.has("cluster")) return {};
  if (cluster->size() != 3) return object.error_at("cluster", "'cluster' holds three dimensions");
  for (const JsonValue& dimension : *cluster) {
    CUBINET_TRY_ASSIGN(kernel.cluster.emplace_back(),
                       expression_member(object, "cluster", dimension, symbols));
  }
  return {};
}

// Reads one expression, or an array of up to three.
Result<void> read_threads(JsonObject& object, const JsonValue& threads, const ExpressionSymbols& symbols,
                          KernelDeclaration& kernel) {
  const auto add = [&](const JsonValue& dimension) -> Result<void> {
    CUBINET_TRY_ASSIGN(kernel.threads.emplace_back(),
                       expression_member(object, "threads", dimension, symbols));
    return {};
  };
  if (!threads.is_list()) return add(threads);
  if (threads.items().empty() || threads.items().size() > 3)
    return object.error_at("threads", "'threads' holds one to three dimensions");
  for (const JsonValue& dimension : threads.items())
    CUBINET_TRY(add(dimension));
  return {};
}

bool is_name_expression(std::string_view text) {
  return !text.empty() && text.size() <= 1024 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Reads the description of the kernel's launch.
Result<void> read_interface(JsonObject& object, KernelDeclaration& kernel) {
  KernelInterface& interface = kernel.interface;
  interface.kernel = kernel.name;
  CUBINET_TRY_ASSIGN(interface.grid, object.text_or("grid", ""));
  CUBINET_TRY_ASSIGN(interface.argument, object.text_or("argument", ""));
  CUBINET_TRY_ASSIGN(interface.argument_header, object.text_or("argument_header", ""));
  if (!interface.argument.empty() && !is_name_expression(interface.argument))
    return object.error_at("argument", "'argument' of '" + kernel.name + "' is no C++ name");
  if (!interface.argument.empty() && kernel.parameter_bytes == 0) {
    return object.error_at(
        "argument", "'" + kernel.name + "' has an 'argument' and no 'parameter_bytes', the structure's size");
  }
  if (interface.argument.empty() && !interface.argument_header.empty()) {
    return object.error_at(
        "argument_header",
        "'" + kernel.name + "' has an 'argument_header' and no 'argument' that it defines");
  }
  return {};
}

Result<KernelDeclaration> read_kernel(const JsonValue& value, const ExpressionSymbols& symbols,
                                      const std::vector<std::string>& sources) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, "a kernel"));
  KernelDeclaration kernel;
  CUBINET_TRY_ASSIGN(kernel.name, identifier_member(object, "kernel"));
  if (object.has("symbol_expression")) {
    CUBINET_TRY_ASSIGN(kernel.symbol_expression, object.text("symbol_expression"));
    if (!is_name_expression(kernel.symbol_expression)) {
      return object.error_at("symbol_expression",
                             "'symbol_expression' of '" + kernel.name + "' is no C++ name");
    }
  }
  CUBINET_TRY_ASSIGN(kernel.source, object.text_or("source", ""));
  if (object.has("source") && std::find(sources.begin(), sources.end(), kernel.source) == sources.end())
    return object.error_at("source",
                           "'source' of '" + kernel.name + "' is none of the declaration's 'sources'");
  CUBINET_TRY_ASSIGN(const JsonValue* threads, object.get("threads"));
  CUBINET_TRY(read_threads(object, *threads, symbols, kernel));
  const JsonValue none(std::int64_t{0});
  const JsonValue* shared = &none;
  if (object.has("dynamic_shared_bytes")) {
    CUBINET_TRY_ASSIGN(shared, object.get("dynamic_shared_bytes"));
  }
  CUBINET_TRY_ASSIGN(kernel.dynamic_shared_bytes,
                     expression_member(object, "dynamic_shared_bytes", *shared, symbols));
  // A kernel's arguments have at most 4 KiB, and 32764 bytes with CUDA 12.1 and sm_70 or later.
  CUBINET_TRY_ASSIGN(const std::int64_t parameter_bytes, object.integer_or("parameter_bytes", 0));
  if (parameter_bytes < 0 || parameter_bytes > 32764)
    return object.error_at("parameter_bytes", "'parameter_bytes' is not within 0 to 32764");
  kernel.parameter_bytes = static_cast<std::uint32_t>(parameter_bytes);
  CUBINET_TRY(read_interface(object, kernel));
  CUBINET_TRY(read_cluster(object, symbols, kernel));
  CUBINET_TRY_ASSIGN(kernel.programmatic_launch, object.flag_or("programmatic_launch", false));
  CUBINET_TRY_ASSIGN(kernel.cooperative, object.flag_or("cooperative", false));
  CUBINET_TRY(object.finish());
  return kernel;
}

// Checks that all declarations of the generated header have different names.
Result<void> check_names(const JsonObject& object, const JsonValue::List& parameters,
                         const JsonValue::List& kernels, const TemplateDeclaration& declaration) {
  std::set<std::string> names;
  const auto add = [&](const std::string& name, const JsonValue& declared_by) -> Result<void> {
    if (names.insert(name).second) return {};
    return object.error_of(declared_by,
                           "the name '" + name +
                               "' would be declared twice: a parameter 'x' that is a choice declares "
                               "x_values, a kernel 'k' k_threads and k_shared_bytes, and a macro is "
                               "named as nothing else");
  };
  std::set<std::string, std::less<>> macros;
  for (std::size_t i = 0; i < declaration.parameters.size(); ++i) {
    const ParameterDeclaration& parameter = declaration.parameters[i];
    CUBINET_TRY(add(parameter.name, parameters[i]));
    if (parameter.type == ParameterType::choice && parameter.macro.empty()) {
      CUBINET_TRY(add(parameter.name + "_values", parameters[i]));
    }
    if (parameter.macro.empty() || parameter.macro == parameter.name) continue;
    CUBINET_TRY(add(parameter.macro, parameters[i]));
  }
  for (std::size_t i = 0; i < declaration.kernels.size(); ++i) {
    const std::string& name = declaration.kernels[i].name;
    CUBINET_TRY(add(name + "_threads", kernels[i]));
    for (const char* dimension : {"_threads_x", "_threads_y", "_threads_z"}) {
      if (declaration.kernels[i].threads.size() > 1) CUBINET_TRY(add(name + dimension, kernels[i]));
    }
    CUBINET_TRY(add(name + "_shared_bytes", kernels[i]));
    for (const ParameterDeclaration& parameter : declaration.parameters) {
      if (parameter.macro == name)
        return object.error_of(kernels[i], "the macro '" + name + "' would replace the kernel's name");
    }
  }
  return {};
}

Result<void> read_lists(JsonObject& object, TemplateDeclaration& declaration) {
  CUBINET_TRY_ASSIGN(const JsonValue::List* parameters, object.list_or_empty("parameters"));
  CUBINET_TRY_ASSIGN(const JsonValue::List* constraints, object.list_or_empty("constraints"));
  CUBINET_TRY_ASSIGN(const JsonValue::List* kernels, object.list_or_empty("kernels"));
  if (std::max({parameters->size(), constraints->size(), kernels->size()}) > kMaximumItems) {
    return object.error("it declares more than 256 parameters, constraints or kernels");
  }
  if (kernels->empty()) return object.error_at("kernels", "it declares no kernel");
  ExpressionSymbols symbols;
  for (const JsonValue& parameter : *parameters) {
    CUBINET_TRY_ASSIGN(ReadParameter read, read_parameter(parameter, symbols));
    symbols[read.declaration.name] = symbol_of(read.declaration);
    if (read.default_expression)
      declaration.default_expressions.emplace(read.declaration.name, *std::move(read.default_expression));
    declaration.parameters.push_back(std::move(read.declaration));
  }
  for (const JsonValue& constraint : *constraints) {
    CUBINET_TRY_ASSIGN(ConstraintDeclaration parsed, read_constraint(constraint, symbols));
    declaration.constraints.push_back(std::move(parsed));
  }
  for (const JsonValue& kernel : *kernels) {
    CUBINET_TRY_ASSIGN(declaration.kernels.emplace_back(), read_kernel(kernel, symbols, declaration.sources));
  }
  if (object.has("row")) {
    CUBINET_TRY_ASSIGN(const JsonValue* row, object.get("row"));
    CUBINET_TRY_ASSIGN(declaration.row, read_row(*row, symbols));
  }
  return check_names(object, *parameters, *kernels, declaration);
}

Result<void> read_globals(JsonObject& object, TemplateDeclaration& declaration) {
  CUBINET_TRY_ASSIGN(const JsonValue::List* listed, object.list_or_empty("globals"));
  for (const JsonValue& name : *listed) {
    auto& globals = declaration.globals;
    if (!name.is_text() || !is_name_expression(name.text()) || globals.size() == kMaximumItems)
      return object.error("'globals' are at most 256 C++ names of variables");
    globals.push_back(name.text());
    if (std::find(globals.begin(), globals.end() - 1, globals.back()) != globals.end() - 1)
      return object.error("the global '" + globals.back() + "' is named twice");
  }
  return {};
}

Result<std::vector<std::string>> read_names(JsonObject& object, std::string_view member) {
  CUBINET_TRY_ASSIGN(const JsonValue::List* listed, object.list_or_empty(member));
  std::vector<std::string> names;
  for (const JsonValue& name : *listed) {
    if (!name.is_text() || names.size() == kMaximumItems)
      return object.error_at(member, "'" + std::string(member) + "' are at most 256 names of files, as text");
    names.push_back(name.text());
  }
  return names;
}

// Reads further sources and libraries. Kernels are read later, because they may name one of these
// sources.
Result<void> read_linked_parts(JsonObject& object, TemplateDeclaration& declaration) {
  CUBINET_TRY_ASSIGN(declaration.sources, read_names(object, "sources"));
  std::set<std::string> names = {declaration.name};
  for (const std::string& source : declaration.sources) {
    const auto wrong = [&](const char* reason) {
      return object.error_at("sources", "'sources': '" + printable(source, kQuotedBytes) + "' " + reason);
    };
    if (!source.ends_with(kSourceEnding) || !is_file_name(source_stem(source)))
      return wrong("is no file beside the template: such a name ends with .cu and holds no folder");
    if (!names.insert(source_stem(source)).second) return wrong("is named twice, or as the template itself");
  }
  CUBINET_TRY_ASSIGN(declaration.libraries, read_names(object, "libraries"));
  auto checked = check_library_names(declaration.libraries);
  if (!checked) return object.error_at("libraries", "'libraries': " + checked.error().message);
  return {};
}

// Adds an unknown member to an error that it may have caused: without its base a declaration lacks
// parameters.
Error with_unknown_member(JsonObject& object, Error error) {
  for (const char* later : {"base", "globals", "options"})
    object.has(later);
  if (const auto known = object.finish(); !known) error.message += "; " + known.error().message;
  return error;
}

Result<TemplateDeclaration> read_declaration(const JsonValue& document) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(document, "the declaration"));
  TemplateDeclaration declaration;
  CUBINET_TRY_ASSIGN(declaration.name, identifier_member(object, "template"));
  CUBINET_TRY_ASSIGN(const std::int64_t interface_version, object.integer("interface"));
  if (interface_version < 1 || interface_version > INT32_MAX)
    return object.error_at("interface", "'interface' is not within 1 to 2^31-1");
  declaration.interface_version = static_cast<std::uint32_t>(interface_version);
  CUBINET_TRY_ASSIGN(declaration.summary, object.text_or("summary", ""));
  CUBINET_TRY_ASSIGN(const std::string minimum, object.text_or("minimum_target", "sm_75"));
  auto target = SmTarget::parse(minimum);
  if (!target) return object.error_at("minimum_target", "'minimum_target': " + target.error().message);
  declaration.minimum_target = *target;
  CUBINET_TRY(read_linked_parts(object, declaration));
  if (auto lists = read_lists(object, declaration); !lists)
    return with_unknown_member(object, std::move(lists).error());
  CUBINET_TRY(read_globals(object, declaration));
  CUBINET_TRY_ASSIGN(declaration.options, read_options(object, declaration.parameters));
  CUBINET_TRY(object.finish());
  return declaration;
}

std::vector<std::string> unused_words_of(const TemplateDeclaration& declaration, std::string_view code) {
  std::set<std::string, std::less<>> used_names;
  const auto use = [&](const Expression& expression) {
    used_names.insert(expression.names().begin(), expression.names().end());
  };
  for (const auto& each : declaration.default_expressions)
    use(each.second);
  for (const ConstraintDeclaration& constraint : declaration.constraints)
    use(constraint.require);
  for (const OptionDeclaration& option : declaration.options) {
    for (const Expression* expression : option.expressions())
      use(*expression);
  }
  for (const KernelDeclaration& kernel : declaration.kernels) {
    std::for_each(kernel.threads.begin(), kernel.threads.end(), use);
    use(kernel.dynamic_shared_bytes);
    std::for_each(kernel.cluster.begin(), kernel.cluster.end(), use);
  }
  if (declaration.row) {
    for (const RowDeclaration::Cell& cell : declaration.row->cells)
      use(cell.value);
  }
  std::set<std::string, std::less<>> unused;
  for (const ParameterDeclaration& parameter : declaration.parameters) {
    if (!used_names.contains(parameter.name)) unused.insert(parameter.word());
  }
  for (const KernelDeclaration& kernel : declaration.kernels)
    remove_words_of(kernel.symbol_expression, unused);
  remove_words_of(code, unused);
  return {unused.begin(), unused.end()};
}

long lines_of(std::string_view text) {
  return static_cast<long>(std::count(text.begin(), text.end(), '\n'));
}

// Returns an error with the file, and the line if it has one: `lines_before` it are not counted in
// `native`.
Error placed(Error error, std::string_view file, std::optional<long> lines_before = {}) {
  std::string place = printable(file, kQuotedBytes);
  if (lines_before) place += ":" + std::to_string(*lines_before + std::max(error.native, 1L));
  error.message = place + ": " + error.message;
  error.native = 0;
  return error;
}

Error prefixed(Error error, const std::string& prefix) {
  error.message = prefix + error.message;
  return error;
}

}  // namespace

Result<std::string> checked_text(std::string text) {
  if (text.size() > kMaximumSourceBytes) return Error{ErrorCode::invalid_argument, "it has more than 16 MiB"};
  if (text.find('\0') == std::string::npos) return text;
  return Error{ErrorCode::invalid_argument, "it holds a NUL character, at which the compiler would stop"};
}

std::string source_stem(std::string_view file_name) {
  return std::string(
      file_name.substr(0, file_name.size() - std::min(file_name.size(), kSourceEnding.size())));
}

Result<std::string> identifier_member(JsonObject& object, std::string_view what) {
  CUBINET_TRY_ASSIGN(std::string name, object.text("name"));
  if (is_identifier(name)) return name;
  return object.error_at("name", "'" + printable(name, kQuotedBytes) + "' cannot name a " +
                                     std::string(what) +
                                     ": a name is [a-z][a-z0-9_]*, at most 64 characters and no word of C++");
}

Result<Expression> typed_expression(const JsonObject& object, std::string_view member,
                                    const std::string& text, ExpressionType type,
                                    const ExpressionSymbols& symbols) {
  auto expression = Expression::parse(text, symbols);
  if (!expression)
    return object.error_at(member, "'" + std::string(member) + "': " + expression.error().message);
  if (expression->type() != type) {
    return object.error_at(member, "'" + std::string(member) + "' has to be " + std::string(to_string(type)) +
                                       " and is " + std::string(to_string(expression->type())));
  }
  return expression;
}

Result<TemplateDeclaration> parse_template_declaration(
    std::string_view source, std::string_view origin, std::optional<std::string_view> beside,
    const Callback<Result<std::string>(const std::string&)>& read_file) {
  if (std::max(source.size(), beside.value_or("").size()) > kMaximumSourceBytes) {
    return placed(
        Error{ErrorCode::invalid_argument, "a template's source and its declaration are at most 16 MiB"},
        origin);
  }
  if (source.find('\0') != std::string_view::npos) {
    return placed(
        Error{ErrorCode::invalid_argument, "it holds a NUL character, at which the compiler would stop"},
        origin);
  }
  auto declared = find_declaration(source);
  if (beside && declared) {
    return placed(
        Error{ErrorCode::invalid_argument, "its source begins with a declaration too", "keep one of the two"},
        origin);
  }
  if (beside) declared = Declared{*beside, 0, source};
  if (!declared) return placed(std::move(declared).error(), origin);
  const long first_line = beside ? 0 : lines_of(source.substr(0, declared->offset));
  auto document = parse_json(declared->text);
  if (!document) return placed(document.error(), origin, first_line);
  const auto base_name = base_name_of(*document);
  if (!base_name) return placed(base_name.error(), origin, first_line);
  DeclarationBase base{*base_name, {}};
  // Lines of the base follow those of the declaration, which tells them apart.
  const long last_line = lines_of(declared->text) + 1;
  const auto placed_by_line = [&](const Error& error) {
    return error.native > last_line ? placed(error, base.name, -last_line)
                                    : placed(error, origin, first_line);
  };
  if (!base.name.empty()) {
    auto text = read_file ? read_file(base.name)
                          : Error{ErrorCode::invalid_argument, "`read_source` was not given to read it"};
    if (text) text = checked_text(*std::move(text));
    if (!text) return placed(prefixed(std::move(text).error(), "the base '" + base.name + "': "), origin);
    base.text = *std::move(text);
    const auto inherited = parse_json(std::string(static_cast<std::size_t>(last_line), '\n') + base.text);
    if (!inherited) return placed_by_line(inherited.error());
    document = extended_declaration(*document, *inherited);
    if (!document) return placed_by_line(document.error());
  }
  auto declaration = read_declaration(*document);
  if (!declaration) return placed_by_line(declaration.error());
  declaration->base = std::move(base);
  declaration->unused_words = unused_words_of(*declaration, declared->code);
  return declaration;
}

}  // namespace cubinet
