// SPDX-License-Identifier: Apache-2.0
#include "linked_parts.hpp"
#include "names.hpp"
#include "parameter_check.hpp"
#include "parameters_header.hpp"
#include "template_declaration.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>
#include <cubinet/kernel_templates/launch_limits.hpp>
#include <cubinet/kernel_templates/parameter_words.hpp>
#include <cubinet/spec/image_target.hpp>

#include <algorithm>
#include <limits>
#include <set>

namespace cubinet {
namespace {

// Only the same target meets a specific minimum. Targets with the family's features meet a family
// minimum.
bool meets_minimum(SmTarget target, SmTarget minimum) {
  switch (minimum.kind) {
    case TargetKind::baseline:
      return target.capability() >= minimum.capability();
    case TargetKind::specific:
      return target == minimum;
    case TargetKind::family:
      return target.kind != TargetKind::baseline && runs_on(minimum, target.capability());
  }
  return false;
}

class DeclaredTemplate final : public KernelTemplate {
 public:
  using LinkedSources = std::vector<std::shared_ptr<const KernelTemplate>>;

  DeclaredTemplate(TemplateDeclaration declaration, std::string source, std::string folder,
                   LinkedSources linked = {})
      : declaration_(std::move(declaration)),
        source_(std::move(source)),
        folder_(std::move(folder)),
        linked_(std::move(linked)) {
    for (const KernelDeclaration& kernel : declaration_.kernels) {
      if (kernel.source.empty()) symbol_expressions_.push_back(kernel.symbol_expression);
    }
    for (const ConstraintDeclaration& constraint : declaration_.constraints) {
      constraints_.push_back(constraint.message);
    }
  }

  const std::string& name() const override { return declaration_.name; }
  const std::string& summary() const override { return declaration_.summary; }
  std::uint32_t interface_version() const override { return declaration_.interface_version; }
  const std::string& source() const override { return source_; }
  const DeclarationBase& base() const override { return declaration_.base; }
  const std::string& folder() const override { return folder_; }
  const std::map<std::string, std::string>& headers() const override { return no_headers_; }
  const std::vector<ParameterDeclaration>& parameters() const override { return declaration_.parameters; }
  const std::vector<std::string>& unused_words() const override { return declaration_.unused_words; }
  SmTarget minimum_target() const override { return declaration_.minimum_target; }
  const std::vector<std::string>& constraints() const override { return constraints_; }
  const std::vector<std::string>& symbol_expressions() const override { return symbol_expressions_; }
  const std::vector<std::string>& globals() const override { return declaration_.globals; }
  const LinkedSources& linked_sources() const override { return linked_; }
  const std::vector<std::string>& libraries() const override { return declaration_.libraries; }

  Result<KernelSpec> resolve(const KernelSpec& spec) const override {
    if (spec.name != name()) {
      return Error{ErrorCode::invalid_argument, "a specification of '" + printable(spec.name, kQuotedBytes) +
                                                    "' was given to the template '" + name() + "'"};
    }
    CUBINET_TRY(check_names(spec));
    KernelSpec resolved;
    resolved.name = name();
    for (const ParameterDeclaration& parameter : declaration_.parameters) {
      if (!parameter.macro.empty() && says_macro(spec.options, parameter.macro)) return is_macro(parameter);
      CUBINET_TRY_ASSIGN(ParameterValue value, value_of(spec, parameter, resolved));
      resolved.parameters.emplace(parameter.name, std::move(value));
    }
    for (const ConstraintDeclaration& constraint : declaration_.constraints) {
      CUBINET_TRY(check_constraint(constraint, resolved));
    }
    CUBINET_TRY_ASSIGN(const CompilerOptions declared,
                       of_this(evaluate_options(declaration_.options, resolved.parameters)));
    resolved.options = with_defaults(spec.options, declared);
    if (!linked_.empty() || !libraries().empty()) make_linkable(resolved.options);
    CUBINET_TRY(all_entry_points(resolved));
    CUBINET_TRY(row(resolved));
    return resolved;
  }

  Result<std::vector<EntryPoint>> entry_points(const KernelSpec& resolved) const override {
    std::vector<EntryPoint> entries;
    for (const KernelDeclaration& kernel : declaration_.kernels) {
      if (!kernel.source.empty()) continue;
      CUBINET_TRY_ASSIGN(entries.emplace_back(), entry_point(kernel, resolved));
    }
    return entries;
  }

  std::vector<KernelInterface> interfaces() const override {
    std::vector<KernelInterface> interfaces;
    for (const KernelDeclaration& kernel : declaration_.kernels) {
      if (kernel.source.empty()) interfaces.push_back(kernel.interface);
    }
    return interfaces;
  }

  Result<std::optional<KernelRow>> row(const KernelSpec& resolved) const override {
    if (!declaration_.row) return std::optional<KernelRow>();
    auto row = evaluate_row(*declaration_.row, resolved.parameters);
    if (!row) {
      Error error = std::move(row).error();
      error.message = "template '" + name() + "': " + error.message;
      return error;
    }
    CUBINET_TRY_ASSIGN(const EntryPoint entry, entry_point(declaration_.kernels.front(), resolved));
    row->implementation = name();
    row->threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(entry.threads_of_block(), UINT32_MAX));
    row->shared_bytes = entry.dynamic_shared_bytes;
    return std::optional<KernelRow>(*std::move(row));
  }

  Result<void> check_target(const KernelSpec& resolved, SmTarget target, ImageKind kind) const override {
    const SmTarget minimum = declaration_.minimum_target;
    if (!meets_minimum(target, minimum)) {
      return Error{ErrorCode::unsupported,
                   "the template '" + name() + "' cannot be built for " +
                       ImageTarget{target, kind}.to_string() + ": it needs " +
                       ImageTarget{minimum, kind}.to_string() +
                       (minimum.kind == TargetKind::baseline ? " or later" : ""),
                   "choose another target or another template"};
    }
    CUBINET_TRY_ASSIGN(const std::vector<EntryPoint> entries, all_entry_points(resolved));
    for (const EntryPoint& entry : entries) {
      CUBINET_TRY(check_launch_limits(entry, resolved.to_string(), {target, kind}));
    }
    return {};
  }

  Result<std::string> parameters_header(const KernelSpec& resolved) const override {
    for (const ParameterDeclaration& parameter : declaration_.parameters) {
      if (resolved.parameters.contains(parameter.name)) continue;
      return Error{ErrorCode::internal,
                   resolved.to_string() + " was not resolved: '" + parameter.name + "' is missing"};
    }
    CUBINET_TRY_ASSIGN(const std::vector<EntryPoint> entries, all_entry_points(resolved));
    return write_parameters_header(declaration_, resolved, entries);
  }

 private:
  // Returns the entry points of all sources, in the declaration's order.
  Result<std::vector<EntryPoint>> all_entry_points(const KernelSpec& resolved) const {
    std::vector<EntryPoint> entries;
    for (const KernelDeclaration& kernel : declaration_.kernels) {
      CUBINET_TRY_ASSIGN(entries.emplace_back(), entry_point(kernel, resolved));
    }
    return entries;
  }

  Result<void> check_names(const KernelSpec& spec) const {
    for (const auto& entry : spec.parameters) {
      const std::string& given = entry.first;
      const auto declares = [&given](const ParameterDeclaration& parameter) {
        return parameter.name == given;
      };
      if (std::any_of(declaration_.parameters.begin(), declaration_.parameters.end(), declares)) continue;
      std::vector<std::string> names;
      for (const ParameterDeclaration& parameter : declaration_.parameters)
        names.push_back(parameter.name);
      return Error{
          ErrorCode::invalid_argument,
          "the template '" + name() + "' has no parameter '" + printable(given, kQuotedBytes) + "'",
          names.empty() ? "it has no parameters" : "it has " + join(nearest_first(names, given), ", ")};
    }
    return {};
  }

  Error is_macro(const ParameterDeclaration& parameter) const {
    return Error{ErrorCode::invalid_argument,
                 "template '" + name() + "': the macro '" + parameter.macro + "' is its parameter '" +
                     parameter.name + "', and a flag of the compiler says it too",
                 "give the parameter its value"};
  }

  // Returns the parameter's value. `resolved` has the values of the preceding parameters.
  Result<ParameterValue> value_of(const KernelSpec& spec, const ParameterDeclaration& parameter,
                                  const KernelSpec& resolved) const {
    const auto found = spec.parameters.find(parameter.name);
    if (found != spec.parameters.end()) return of_this(admitted_value(parameter, found->second));
    if (parameter.default_value) return *parameter.default_value;
    const auto computed = declaration_.default_expressions.find(parameter.name);
    if (computed != declaration_.default_expressions.end()) {
      auto value = computed->second.evaluate(resolved.parameters);
      if (value) value = admitted_value(parameter, *std::move(value));
      if (value) return value;
      Error error = std::move(value).error();
      error.message = "template '" + name() + "': the default of '" + parameter.name + "', " +
                      computed->second.text() + values_named_by(computed->second, resolved) + ": " +
                      error.message;
      return error;
    }
    return Error{
        ErrorCode::invalid_argument,
        "template '" + name() + "': parameter '" + parameter.name + "' is missing and has no default",
        parameter.name + " is " + parameter.allowed()};
  }

  template <class Value>
  Result<Value> of_this(Result<Value> value) const {
    if (value) return value;
    Error error = std::move(value).error();
    error.message = "template '" + name() + "': " + error.message;
    return error;
  }

  // Returns "dtype_q = bf16, dtype_kv = fp16".
  static std::string values_named_by(const Expression& expression, const KernelSpec& resolved) {
    std::vector<std::string> parts;
    for (const std::string& used : expression.names()) {
      const auto found = resolved.parameters.find(used);
      if (found != resolved.parameters.end()) parts.push_back(used + " = " + to_string(found->second));
    }
    return parts.empty() ? "" : " (" + join(parts, ", ") + ")";
  }

  Result<void> check_constraint(const ConstraintDeclaration& constraint, const KernelSpec& resolved) const {
    auto holds = constraint.require.evaluate_flag(resolved.parameters);
    if (holds && *holds) return {};
    const std::string reason = holds ? constraint.message : holds.error().message;
    return Error{ErrorCode::invalid_argument,
                 "template '" + name() + "': " + reason + values_named_by(constraint.require, resolved),
                 "required: " + constraint.require.text()};
  }

  Result<std::uint32_t> quantity(const KernelDeclaration& kernel, std::string_view what,
                                 const Expression& expression, std::int64_t lowest,
                                 const KernelSpec& resolved) const {
    const auto value = expression.evaluate_integer(resolved.parameters);
    if (value && *value >= lowest && *value <= std::numeric_limits<std::int32_t>::max()) {
      return static_cast<std::uint32_t>(*value);
    }
    const std::string reason =
        value ? "'" + expression.text() + "' is " + std::to_string(*value) : value.error().message;
    return Error{ErrorCode::invalid_argument, "template '" + name() + "', kernel '" + kernel.name +
                                                  "': " + std::string(what) + ": " + reason +
                                                  values_named_by(expression, resolved)};
  }

  Result<EntryPoint> entry_point(const KernelDeclaration& kernel, const KernelSpec& resolved) const {
    EntryPoint entry;
    entry.name = kernel.name;
    if (kernel.symbol_expression.empty()) entry.symbol = kernel.name;
    std::uint32_t* const dimensions[] = {&entry.threads, &entry.threads_y, &entry.threads_z};
    for (std::size_t i = 0; i < kernel.threads.size(); ++i) {
      CUBINET_TRY_ASSIGN(*dimensions[i], quantity(kernel, "threads", kernel.threads[i], 1, resolved));
    }
    CUBINET_TRY_ASSIGN(entry.dynamic_shared_bytes,
                       quantity(kernel, "dynamic shared memory", kernel.dynamic_shared_bytes, 0, resolved));
    entry.parameter_bytes = kernel.parameter_bytes;
    for (std::size_t i = 0; i < kernel.cluster.size(); ++i) {
      CUBINET_TRY_ASSIGN(entry.cluster[i], quantity(kernel, "cluster", kernel.cluster[i], 1, resolved));
    }
    entry.programmatic_launch = kernel.programmatic_launch;
    entry.cooperative = kernel.cooperative;
    return entry;
  }

  TemplateDeclaration declaration_;
  std::string source_;
  std::string folder_;
  LinkedSources linked_;
  std::map<std::string, std::string> no_headers_;
  std::vector<std::string> symbol_expressions_;
  std::vector<std::string> constraints_;
};

// Includes the generated header in a source that has no declaration.
void include_parameters(std::string& source) {
  if (source.starts_with("\xef\xbb\xbf"))
    source.erase(0, 3);  // a byte-order mark is an error elsewhere in the text
  source.insert(0, "#include <cubinet/parameters.cuh>\n#line 1\n");
}

// Returns the part of the declaration that belongs to one of its further sources.
TemplateDeclaration further_source(const TemplateDeclaration& declaration, const std::string& file_name) {
  TemplateDeclaration further;
  further.name = source_stem(file_name);
  further.interface_version = declaration.interface_version;
  further.minimum_target = declaration.minimum_target;
  further.parameters = declaration.parameters;
  further.unused_words = declaration.unused_words;
  for (const KernelDeclaration& kernel : declaration.kernels) {
    if (kernel.source == file_name) further.kernels.emplace_back(kernel).source.clear();
  }
  return further;
}

}  // namespace

const std::vector<std::shared_ptr<const KernelTemplate>>& KernelTemplate::linked_sources() const {
  static const std::vector<std::shared_ptr<const KernelTemplate>> none;
  return none;
}

const std::vector<Prelude>& KernelTemplate::preludes() const {
  static const std::vector<Prelude> none;
  return none;
}

const DeclarationBase& KernelTemplate::base() const {
  static const DeclarationBase none;
  return none;
}

const std::vector<std::string>& KernelTemplate::libraries() const {
  static const std::vector<std::string> none;
  return none;
}

Result<std::shared_ptr<const KernelTemplate>> KernelTemplate::parse(
    std::string source, std::string_view origin, std::string folder,
    std::optional<std::string_view> declaration,
    const Callback<Result<std::string>(const std::string&)>& read_source) {
  CUBINET_TRY_ASSIGN(TemplateDeclaration parsed,
                     parse_template_declaration(source, origin, declaration, read_source));
  std::vector<std::string> texts;
  for (const std::string& name : parsed.sources) {
    auto text = read_source ? read_source(name)
                            : Error{ErrorCode::invalid_argument, "`read_source` was not given to read it"};
    if (text) text = checked_text(*std::move(text));
    if (!text) {
      Error error = std::move(text).error();
      error.message = printable(origin, kQuotedBytes) + ": the source '" + name + "': " + error.message;
      return error;
    }
    std::set<std::string, std::less<>> words(parsed.unused_words.begin(), parsed.unused_words.end());
    remove_words_of(*text, words);
    parsed.unused_words.assign(words.begin(), words.end());
    texts.push_back(*std::move(text));
  }
  DeclaredTemplate::LinkedSources linked;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (declaration) include_parameters(texts[i]);
    linked.push_back(std::make_shared<DeclaredTemplate>(further_source(parsed, parsed.sources[i]),
                                                        std::move(texts[i]), folder));
  }
  if (declaration) include_parameters(source);
  return std::shared_ptr<const KernelTemplate>(std::make_shared<DeclaredTemplate>(
      std::move(parsed), std::move(source), std::move(folder), std::move(linked)));
}

}  // namespace cubinet
