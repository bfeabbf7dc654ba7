// SPDX-License-Identifier: Apache-2.0
#include "completion_scripts.hpp"
#include "manual_page.hpp"
#include "verbs.hpp"

#include <nlohmann/json.hpp>

namespace cubinet::cli {
namespace {

struct CompletionOptions {
  const CLI::App* root = nullptr;
  std::string shell;
};

Result<ExitStatus> print_completion(const Context& context, const CompletionOptions& options) {
  const VerbTable table = verb_table(*options.root);
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
