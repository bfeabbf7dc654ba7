// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "kernel_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/parameter_json.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct TemplatesOptions {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<std::string> template_files;
};

nlohmann::json describe_parameter(const ParameterDeclaration& parameter) {
  nlohmann::json described = {{"name", parameter.name},
                              {"summary", parameter.summary},
                              {"type", to_string(parameter.type)},
                              {"allowed", parameter.allowed()}};
  if (!parameter.macro.empty()) described["macro"] = parameter.macro;
  if (parameter.default_value) described["default"] = to_json(*parameter.default_value);
  if (!parameter.default_expression.empty()) described["default_expression"] = parameter.default_expression;
  if (!parameter.values.empty()) {
    for (const ParameterValue& value : parameter.values)
      described["values"].push_back(to_json(value));
  }
  if (parameter.minimum) described["minimum"] = to_json(*parameter.minimum);
  if (parameter.maximum) described["maximum"] = to_json(*parameter.maximum);
  if (parameter.multiple_of != 1) described["multiple_of"] = parameter.multiple_of;
  return described;
}

Result<ExitStatus> list_templates(const Context& context, const TemplateCatalog& catalog) {
  Table table({"TEMPLATE", "INTERFACE", "FROM", "SUMMARY"});
  nlohmann::json listed = nlohmann::json::array();
  for (const auto& kernel_template : catalog.list()) {
    const std::string minimum = kernel_template->minimum_target().to_string();
    table.add({kernel_template->name(), std::to_string(kernel_template->interface_version()), minimum,
               kernel_template->summary()});
    listed.push_back({{"name", kernel_template->name()},
                      {"summary", kernel_template->summary()},
                      {"interface_version", kernel_template->interface_version()},
                      {"minimum_target", minimum}});
  }
  context.console().text(table.to_string());
  context.console().document({{"templates", std::move(listed)}});
  return ExitStatus::done;
}

std::string default_of(const ParameterDeclaration& parameter) {
  if (parameter.default_value) return to_string(*parameter.default_value);
  return parameter.default_expression.empty() ? "required" : parameter.default_expression;
}

std::string parameter_table(const KernelTemplate& kernel_template) {
  Table table({"PARAMETER", "TYPE", "ALLOWED", "DEFAULT", "MEANING"});
  for (const ParameterDeclaration& parameter : kernel_template.parameters()) {
    table.add({parameter.name, std::string(to_string(parameter.type)), parameter.allowed(),
               default_of(parameter), parameter.summary});
  }
  return table.to_string();
}

std::string kernel_table(const std::vector<EntryPoint>& entry_points) {
  Table table({"KERNEL", "THREADS", "SHARED MEMORY", "ARGUMENTS"});
  for (const EntryPoint& entry_point : entry_points) {
    table.add({entry_point.name, describe_block(entry_point), format_bytes(entry_point.dynamic_shared_bytes),
               entry_point.parameter_bytes == 0 ? "several" : format_bytes(entry_point.parameter_bytes)});
  }
  return table.to_string();
}

// Returns the declared launches of the template's kernels and of those in its further sources.
std::vector<KernelInterface> interfaces_of(const KernelTemplate& kernel_template) {
  std::vector<KernelInterface> interfaces = kernel_template.interfaces();
  for (const auto& source : kernel_template.linked_sources()) {
    const std::vector<KernelInterface> more = source->interfaces();
    interfaces.insert(interfaces.end(), more.begin(), more.end());
  }
  return interfaces;
}

std::string interface_table(const std::vector<KernelInterface>& interfaces) {
  Table table({"KERNEL", "GRID", "ARGUMENT", "DEFINED IN"});
  const auto cell = [](const std::string& text) { return text.empty() ? std::string("-") : printable(text); };
  for (const KernelInterface& kernel : interfaces)
    table.add({kernel.kernel, cell(kernel.grid), cell(kernel.argument), cell(kernel.argument_header)});
  return table.to_string();
}

nlohmann::json describe_interface(const KernelInterface& kernel) {
  const auto value = [](const std::string& text) {
    return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
  };
  return {{"kernel", kernel.kernel},
          {"grid", value(kernel.grid)},
          {"argument", value(kernel.argument)},
          {"argument_header", value(kernel.argument_header)}};
}

// Returns the further sources and the libraries that the template's declaration names.
std::vector<std::string> linked_parts(const KernelTemplate& kernel_template) {
  std::vector<std::string> parts;
  for (const auto& source : kernel_template.linked_sources())
    parts.push_back(source->file_name());
  parts.insert(parts.end(), kernel_template.libraries().begin(), kernel_template.libraries().end());
  return parts;
}

Result<ExitStatus> show_template(const Context& context, const TemplateCatalog& catalog,
                                 const TemplatesOptions& options) {
  CUBINET_TRY_ASSIGN(const auto kernel_template, catalog.find(options.name));
  CUBINET_TRY_ASSIGN(const KernelSpec given, parse_parameters(*kernel_template, options.parameters));
  nlohmann::json described = {{"name", kernel_template->name()},
                              {"summary", kernel_template->summary()},
                              {"interface_version", kernel_template->interface_version()},
                              {"minimum_target", kernel_template->minimum_target().to_string()},
                              {"parameters", nlohmann::json::array()},
                              {"constraints", kernel_template->constraints()}};
  for (const ParameterDeclaration& parameter : kernel_template->parameters()) {
    described["parameters"].push_back(describe_parameter(parameter));
  }
  const std::string summary = printable(kernel_template->summary());
  std::string text =
      fmt::format("{}{}\ninterface version {}, from {} up\n\n{}", kernel_template->name(),
                  summary.empty() ? "" : ": " + summary, kernel_template->interface_version(),
                  kernel_template->minimum_target().to_string(), parameter_table(*kernel_template));
  if (!kernel_template->constraints().empty()) {
    text += "\n\nConstraints:";
    for (const std::string& constraint : kernel_template->constraints())
      text += "\n  " + printable(constraint);
  }
  const std::vector<std::string> parts = linked_parts(*kernel_template);
  if (!parts.empty()) {
    described["linked_with"] = parts;
    text += "\n\nLinked with " + printable(join(parts, ", "));
  }
  const std::vector<KernelInterface> interfaces = interfaces_of(*kernel_template);
  described["launches"] = nlohmann::json::array();
  for (const KernelInterface& kernel : interfaces)
    described["launches"].push_back(describe_interface(kernel));
  text += "\n\n" + interface_table(interfaces);
  // Threads and shared memory are functions of the parameters. They are known once the parameters
  // without a default are given.
  const auto resolved = kernel_template->resolve(given);
  if (!resolved && !options.parameters.empty()) return resolved.error();
  if (resolved) {
    CUBINET_TRY_ASSIGN(std::vector<EntryPoint> entry_points, kernel_template->entry_points(*resolved));
    for (const auto& source : kernel_template->linked_sources()) {
      CUBINET_TRY_ASSIGN(const std::vector<EntryPoint> more, source->entry_points(*resolved));
      entry_points.insert(entry_points.end(), more.begin(), more.end());
    }
    for (const EntryPoint& entry_point : entry_points)
      described["kernels"].push_back(describe(entry_point));
    described["specification"] = describe(*resolved);
    text += fmt::format("\n\nWith {}:\n{}", resolved->to_string(), kernel_table(entry_points));
  } else {
    text +=
        "\n\nThe kernels' threads and shared memory depend on the parameters: give those that are required "
        "with -p.";
  }
  context.console().text(text);
  context.console().document(described);
  return ExitStatus::done;
}

Result<ExitStatus> templates(const Context& context, const TemplatesOptions& options) {
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog(options.template_files));
  if (!options.name.empty()) return show_template(context, catalog, options);
  if (options.parameters.empty()) return list_templates(context, catalog);
  return Error{ErrorCode::invalid_argument, "-p is given and no template",
               "write `cubinet templates TEMPLATE -p name=value`"};
}

}  // namespace

void add_templates(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("templates", "List the kernel templates, or show one");
  auto options = std::make_shared<TemplatesOptions>();
  verb->add_option("TEMPLATE", options->name, "The one to show")->type_name("");
  add_parameters(*verb, options->parameters);
  add_template_files(*verb, options->template_files);
  verb->footer(R"(Examples:
  cubinet templates
  cubinet templates attention_decode
  cubinet templates rms_norm -p hidden_size=8192 -p dtype=bf16
  cubinet templates --template-file scale_add.cu scale_add)");
  choose<TemplatesOptions>(*verb, chosen, options, templates);
}

}  // namespace cubinet::cli
