// SPDX-License-Identifier: Apache-2.0
#include "own_pages.hpp"

#include <cubinet/base/roff.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/sources/option_table.hpp>

#include <algorithm>
#include <utility>

namespace cubinet::nvcc {
namespace {

constexpr std::string_view kOwnPrefix = "--cubinet-";
constexpr std::string_view kSummary = "nvcc for JITs: cubins and PTX from a home, a bundle, a cache or NVRTC";
constexpr std::string_view kDescription =
    "A line that makes one cubin or PTX is answered from the home, a bundle or a shared cache, or compiled "
    "with "
    "NVRTC and kept. Every other line goes unchanged to NVIDIA's nvcc, with its exit status.";

// The variables that only cubinet-nvcc reads.
constexpr std::pair<std::string_view, std::string_view> kVariables[] = {
    {"CUBINET_NVCC", "NVIDIA's nvcc. Otherwise that of CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda."},
    {"CUBINET_NVCC_BUNDLES", "Bundles, files or references, separated by blanks."},
    {"CUBINET_NVCC_CACHES", "Shared build caches, separated by blanks."},
    {"CUBINET_NVCC_CACHE_KEY", "The file of the secret key that signs what is shared."},
    {"CUBINET_HOME, CUBINET_COMPILE, CUDA_HOME, ...", "As for cubinet(1)."},
};

std::string written(const OwnOption& option) {
  return std::string(option.name) + (option.value.empty() ? "" : " ") + std::string(option.value);
}

std::string help() {
  std::string text =
      "Usage: cubinet-nvcc [OPTION OF NVCC]... FILE.cu\n\n" + std::string(kDescription) +
      "\nOptions of nvcc that are not passed on make a cubin or PTX; docs/nvcc.md lists them.\n\n";
  for (const OwnOption& option : own_options()) {
    std::string name = written(option);
    name.resize(std::max<std::size_t>(name.size() + 2, 32), ' ');
    text += "  " + name + std::string(option.meaning) + "\n";
  }
  return text;
}

// Returns both names of an option of nvcc.
std::vector<std::string> names_of(const NvccOption& option) {
  return {"-" + std::string(option.short_name), "--" + std::string(option.long_name)};
}

std::string paragraph_of(std::string_view tag, std::string_view text) {
  return ".TP\n" + roff_bold(tag) + "\n" + roff_escaped(text) + "\n";
}

std::string manual() {
  std::string page = ".TH CUBINET\\-NVCC 1 \"\" \"cubinet " CUBINET_VERSION
                     "\"\n.SH NAME\ncubinet\\-nvcc \\- " +
                     roff_escaped(kSummary) + "\n.SH SYNOPSIS\n" + roff_bold("cubinet-nvcc") + " [" +
                     roff_italic("OPTION OF NVCC") + "]... " + roff_italic("FILE.cu") +
                     "\n.SH DESCRIPTION\n" + roff_escaped(kDescription) + "\n.SH OPTIONS\n";
  for (const OwnOption& option : own_options())
    page += paragraph_of(written(option), option.meaning);
  page += ".SH OPTIONS OF NVCC\nThe line is answered if it has no other option than these.\n";
  for (const NvccOption& option : option_table()) {
    if (option.role == OptionRole::pass) continue;
    page += ".br\n" + roff_bold(join(names_of(option), ", ")) + "\n";
  }
  page += ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : kVariables)
    page += paragraph_of(name, meaning);
  return page + ".SH EXIT STATUS\n0 if the output is written, 1 after an error, or the status of nvcc.\n" +
         ".SH SEE ALSO\n" + roff_bold("cubinet") + "(1)\n";
}

std::string all_names() {
  std::vector<std::string> names;
  for (const NvccOption& option : option_table()) {
    for (std::string& name : names_of(option))
      names.push_back(std::move(name));
  }
  for (const OwnOption& option : own_options())
    names.emplace_back(option.name);
  return join(names, " ");
}

std::string fish_completion() {
  std::string script;
  for (const NvccOption& option : option_table()) {
    const std::string_view value = option.value == OptionValue::none ? "" : " -r";
    const bool is_letter = option.short_name.size() == 1;
    script += "complete -c cubinet-nvcc -l " + std::string(option.long_name) + (is_letter ? " -s " : " -o ") +
              std::string(option.short_name) + std::string(value) + "\n";
  }
  for (const OwnOption& option : own_options()) {
    script += "complete -c cubinet-nvcc -l " + std::string(option.name.substr(2)) +
              (option.value.empty() ? "" : " -x -a 'bash fish zsh'") + " -d '" + std::string(option.meaning) +
              "'\n";
  }
  return script;
}

Result<std::string> completion(std::string_view shell) {
  if (shell == "bash") return "complete -o default -W '" + all_names() + "' cubinet-nvcc\n";
  if (shell == "zsh") {
    return "#compdef cubinet-nvcc\nif [[ $PREFIX == -* ]]; then\n  compadd -- " + all_names() +
           "\nelse\n  _files\nfi\n";
  }
  if (shell == "fish") return fish_completion();
  return Error{ErrorCode::invalid_argument, "there is no completion for '" + printable(shell) + "'",
               "name bash, fish or zsh"};
}

}  // namespace

const std::vector<OwnOption>& own_options() {
  static const std::vector<OwnOption> options = {
      {"--cubinet-help", "", "Prints this list"},
      {kPassedOption, "", "Prints how many lines went to nvcc, by reason"},
      {"--cubinet-completion", "SHELL", "Prints the completions for bash, fish or zsh"},
      {"--cubinet-manual", "", "Prints the manual page"},
  };
  return options;
}

Result<std::optional<std::string>> own_page(const std::vector<std::string>& arguments) {
  if (arguments.empty() || !arguments.front().starts_with(kOwnPrefix)) return std::nullopt;
  const std::string& name = arguments.front();
  const auto& options = own_options();
  const auto option =
      std::find_if(options.begin(), options.end(), [&](const OwnOption& each) { return each.name == name; });
  const std::size_t words = option != options.end() && !option->value.empty() ? 2 : 1;
  if (option == options.end() || arguments.size() != words) {
    return Error{ErrorCode::invalid_argument,
                 "'" + printable(join(arguments, " ")) + "' is no line of cubinet-nvcc",
                 "`cubinet-nvcc --cubinet-help` lists its options"};
  }
  if (name == kPassedOption) return std::nullopt;
  if (words == 2) {
    CUBINET_TRY_ASSIGN(std::string script, completion(arguments.back()));
    return std::optional(std::move(script));
  }
  return std::optional(name == "--cubinet-manual" ? manual() : help());
}

}  // namespace cubinet::nvcc
