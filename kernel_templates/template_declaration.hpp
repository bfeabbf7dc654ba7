// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expression.hpp"
#include "option_declaration.hpp"
#include "row_declaration.hpp"

#include <cubinet/base/callback.hpp>
#include <cubinet/base/json_object.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

inline constexpr std::size_t kMaximumSourceBytes = std::size_t{16} << 20;

struct ConstraintDeclaration {
  Expression require;  // a flag
  std::string message;
};

struct KernelDeclaration {
  std::string name;
  std::string symbol_expression;    // empty: extern "C" with the kernel's name as its symbol
  std::string source;               // one of TemplateDeclaration::sources; empty: the template's own
  std::vector<Expression> threads;  // one to three, for x, y and z
  Expression dynamic_shared_bytes;
  std::uint32_t parameter_bytes = 0;
  std::vector<Expression> cluster;  // three, or none
  bool programmatic_launch = false;
  bool cooperative = false;
  KernelInterface interface;
};

// The declaration at the head of a template file (docs/formats/template.md).
struct TemplateDeclaration {
  std::string name;
  std::uint32_t interface_version = 0;
  std::string summary;
  DeclarationBase base;
  SmTarget minimum_target;
  std::vector<ParameterDeclaration> parameters;
  std::vector<ConstraintDeclaration> constraints;
  std::vector<KernelDeclaration> kernels;
  std::optional<RowDeclaration> row;
  std::vector<std::string> globals;        // C++ names of variables
  std::vector<std::string> sources;        // further source files in the same folder
  std::vector<std::string> libraries;      // SourceProgram::libraries
  std::vector<OptionDeclaration> options;  // the defaults of a request's options
  std::map<std::string, Expression, std::less<>> default_expressions;  // by parameter
  std::vector<std::string> unused_words;                               // KernelTemplate::unused_words()
};

// Returns the text of a further file of a template; an error if it is too long or holds a NUL
// character.
Result<std::string> checked_text(std::string text);

// Returns the name of a further source: "other" for "other.cu".
std::string source_stem(std::string_view file_name);

// Reads the member "name", which must be an identifier. `what` names the object in messages.
Result<std::string> identifier_member(JsonObject& object, std::string_view what);

// Parses the expression of a member. Returns the object's error if the expression has another type.
Result<Expression> typed_expression(const JsonObject& object, std::string_view member,
                                    const std::string& text, ExpressionType type,
                                    const ExpressionSymbols& symbols);

// Parses the declaration that the source begins with, or the one beside it. `read_file` returns the
// text of a base by its name. Any text gives a declaration or invalid_argument that names the file
// that is wrong (`origin`, which has the declaration, or its base) and the line.
Result<TemplateDeclaration> parse_template_declaration(
    std::string_view source, std::string_view origin, std::optional<std::string_view> beside = {},
    const Callback<Result<std::string>(const std::string&)>& read_file = {});

}  // namespace cubinet
