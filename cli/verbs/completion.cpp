// SPDX-License-Identifier: Apache-2.0
#include "completion_scripts.hpp"
#include "manual_page.hpp"
#include "verbs.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/spec/data_type.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <nlohmann/json.hpp>

namespace cubinet::cli {
namespace {

// Returns the values of an option or argument that a shell may offer, beside which others may be
// accepted.
std::vector<std::string> known_values(const OptionEntry& option) {
  std::vector<std::string> values;
  const std::string& kind = option.value;
  const bool names_template =
      kind == "TEMPLATE" || kind == "KERNEL" || option.names == std::vector<std::string>{"--template"};
  if (names_template) {
    const auto catalog = TemplateCatalog::builtin();
    if (!catalog) return values;
    for (const auto& kernel_template : catalog->list())
      values.push_back(kernel_template->name());
  } else if (kind == "PROFILE") {
    values = {"plain", "ship", "archive"};
  } else if (kind == "TOOL") {
    values = {"triton", "deepjit", "cuda.core"};
  } else if (kind == "TYPE") {
    for (const DataType type : all_data_types())
      values.emplace_back(to_string(type));
  } else if (option.names == std::vector<std::string>{"--backend"}) {
    values = {std::string(kAutomaticBackend), std::string(kTemplatesBackend), std::string(kPublishedBackend)};
  } else if (option.names == std::vector<std::string>{"--target"} || kind == "TARGET") {
    for (const SmTarget target : known_targets())
      values.push_back(target.to_string());
  }
  return values;
}

// Adds the known values to a table that has only those that an option insists on. Of several
// arguments only the first has them, so that a shell offers files for the others.
VerbTable table_with_values(const CLI::App& root) {
  VerbTable table = verb_table(root);
  for (VerbEntry& verb : table.verbs) {
    for (OptionEntry& option : verb.options)
      if (option.choices.empty()) option.choices = known_values(option);
    if (verb.arguments.empty() || !verb.arguments.front().choices.empty()) continue;
    verb.arguments.front().choices = known_values(verb.arguments.front());
  }
  return table;
}

struct CompletionOptions {
  const CLI::App* root = nullptr;
  std::string shell;
};

Result<ExitStatus> print_completion(const Context& context, const CompletionOptions& options) {
  const VerbTable table = table_with_values(*options.root);
  const std::string script = options.shell == "bash"  ? bash_completion(table)
                             : options.shell == "zsh" ? zsh_completion(table)
                                                      : fish_completion(table);
  if (!context.console().json()) context.console().raw(script);
  context.console().document({{"script", script}});
  return ExitStatus::done;
}

struct ManualOptions {
  const CLI::App* root = nullptr;
};

Result<ExitStatus> print_manual(const Context& context, const ManualOptions& options) {
  const std::string page = manual_page(verb_table(*options.root), CUBINET_VERSION);
  if (!context.console().json()) context.console().raw(page);
  context.console().document({{"manual", page}});
  return ExitStatus::done;
}

}  // namespace

void add_completion(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("completion", "Print a script that completes commands in a shell");
  auto options = std::make_shared<CompletionOptions>();
  options->root = &root;
  verb->add_option("SHELL", options->shell, "The shell: bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->footer(R"(An installed package has these scripts already.

Examples:
  source <(cubinet completion bash)
  cubinet completion zsh > ~/.zfunc/_cubinet
  cubinet completion fish > ~/.config/fish/completions/cubinet.fish)");
  choose<CompletionOptions>(*verb, chosen, options, print_completion);
}

void add_manual(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("manual", "Print the manual page, for man");
  auto options = std::make_shared<ManualOptions>();
  options->root = &root;
  verb->footer(R"(Examples:
  cubinet manual > cubinet.1
  cubinet manual | man -l -)");
  choose<ManualOptions>(*verb, chosen, options, print_manual);
}

}  // namespace cubinet::cli
