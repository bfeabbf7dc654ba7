// SPDX-License-Identifier: Apache-2.0
#include "usage_error.hpp"

#include "arguments.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/spec/compiler_options.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace cubinet::cli {
namespace {

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({}))
    names.push_back(verb->get_name());
  return names;
}

std::string more_help(const CLI::App& app) {
  return "`" + full_name(app) + " --help` says more";
}

std::string verb_list(const CLI::App& app) {
  return "verbs: " + join(verbs_of(app)) + "; " + more_help(app);
}

Error unknown_verb(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> near = nearest_names(word, verbs_of(app));
  return Error{ErrorCode::invalid_argument,
               "'" + printable(word, kQuotedBytes) + "' is no verb of " + full_name(app),
               near.empty() ? verb_list(app) : "did you mean " + near.front() + "?"};
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  }
  return names;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The tool's own options are `-x` or `--long-name`; nvcc writes `-std=c++20` and `--use_fast_math`.
bool is_spelled_as_compiler_flag(std::string_view name) {
  const bool long_after_one_dash = name.size() > 2 && name[1] != '-';
  return long_after_one_dash || name.find('_') != std::string_view::npos;
}

// Returns the value for `--flag=` that gives NVRTC the flag `word`. `next` may be the flag's value.
Result<std::string> as_compiler_flag(const std::string& word, const std::optional<std::string>& next) {
  // NVRTC has no -O3. ptxas, which optimises, has it.
  if (word.size() == 3 && word.starts_with("-O") && word[2] >= '0' && word[2] <= '9')
    return "-Xptxas=" + word;
  const auto alone = parse_compiler_flags(std::array{word});
  if (alone) return word;
  if (next && parse_compiler_flags(std::array{word, *next})) return word + "=" + *next;
  if (parse_compiler_flags(std::array{word, std::string("1")})) return word + "=VALUE";
  return alone.error();
}

// Returns the remedy for the unknown option `word`. `next` is the word that follows it on the line,
// if that is unexpected too.
std::string unknown_option_remedy(const CLI::App& verb, const std::string& word,
                                  const std::optional<std::string>& next) {
  const std::string name = word.substr(0, word.find('='));
  const bool compiles = verb.get_option_no_throw("--flag") != nullptr;
  const std::vector<std::string> near = nearest_names(name, option_names(verb));
  if (!near.empty() && !(compiles && is_spelled_as_compiler_flag(name)))
    return "did you mean " + join(near, " or ") + "?";
  if (!compiles) return verbs_of(verb).empty() ? more_help(verb) : verb_list(verb);
  if (is_one_of(name, {"-arch", "--gpu-architecture", "-gencode", "--generate-code"}))
    return "name the targets with --target sm_90a,sm_100f";
  const auto flag = as_compiler_flag(word, next);
  if (flag) return "a flag for the compiler is given with --flag=" + shell_quoted(*flag);
  return flag.error().remedy.empty() ? flag.error().message
                                     : flag.error().message + "; " + flag.error().remedy;
}

}  // namespace

CLI::App& innermost_verb(CLI::App& root) {
  CLI::App* app = &root;
  while (!app->get_subcommands().empty())
    app = app->get_subcommands().front();
  return *app;
}

std::string full_name(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* parent = app.get_parent(); parent != nullptr; parent = parent->get_parent())
    name = parent->get_name() + " " + name;
  return name;
}

Result<CLI::App*> find_verb(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App* app = &root;
  for (const std::string& word : words) {
    const std::vector<std::string> verbs = verbs_of(*app);
    if (verbs.empty()) {
      return Error{
          ErrorCode::invalid_argument,
          "'" + printable(word, kQuotedBytes) + "' names nothing: " + full_name(*app) + " has no verbs",
          more_help(*app)};
    }
    if (std::find(verbs.begin(), verbs.end(), word) == verbs.end()) return unknown_verb(*app, word);
    app = app->get_subcommand(word);
  }
  return app;
}

Error missing_verb_error(CLI::App& root) {
  CLI::App& app = innermost_verb(root);
  return Error{ErrorCode::invalid_argument, "no verb is given after " + full_name(app), verb_list(app)};
}

Error usage_error(CLI::App& root, const CLI::ParseError& error) {
  CLI::App& app = innermost_verb(root);
  const std::vector<std::string> extras = root.remaining(true);
  const auto option = first_option(extras);
  if (option != extras.end()) {
    const auto next = option + 1 == extras.end() ? std::nullopt : std::optional(*(option + 1));
    return Error{ErrorCode::invalid_argument, message_of(error, root),
                 unknown_option_remedy(app, *option, next)};
  }
  const bool has_verbs = !verbs_of(app).empty();
  if (has_verbs && !app.remaining().empty()) return unknown_verb(app, app.remaining().front());
  return Error{ErrorCode::invalid_argument, message_of(error, root),
               has_verbs ? verb_list(app) : more_help(app)};
}

}  // namespace cubinet::cli
