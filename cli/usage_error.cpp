// SPDX-License-Identifier: Apache-2.0
#include "usage_error.hpp"

#include "arguments.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/spec/compiler_options.hpp>

#include <algorithm>
#include <array>
#include <iterator>
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

// Flags of nvcc that NVRTC does not have or that have an option here, and what replaces them.
struct NvccFlag {
  std::string_view names;  // each with a blank before and after it
  std::string_view remedy;
};
constexpr NvccFlag kNvccFlags[] = {
    {" -arch --gpu-architecture -code --gpu-code -gencode --generate-code ",
     "name the targets with --target sm_90a,sm_100f"},
    {" -ptx --ptx ", "`cubinet compile --emit ptx` prints PTX; --target compute_90 keeps it as a build"},
    {" -cubin --cubin -c --compile ", "leave it out: `cubinet compile` makes cubins"},
    {" -fatbin --fatbin ",
     "there is no fatbinary: name several targets; `cubinet bundle create` makes one file of them"},
    {" -l ", "`cubinet compile --library cudadevrt` links a device library"},
    {" -t --threads -split-compile --split-compile ", "--jobs N compiles so many kernels at a time"},
    {" -include --pre-include ", "`cubinet compile --prelude FILE` includes a file before each source"},
    {" -isystem --system-include ", "-I FOLDER names a folder of headers"},
    {" -Xptxas --ptxas-options ",
     "a flag for ptxas is given with --flag=-Xptxas=FLAG; `cubinet inspect` prints what its -v would: "
     "registers, stack and shared memory"},
    {" -res-usage --resource-usage ",
     "`cubinet inspect` prints registers, stack and shared memory of a kernel"},
    {" -keep --keep -save-temps --save-temps -dryrun --dryrun ",
     "-v prints what NVRTC receives, and `cubinet compile --emit ptx` what it makes"},
    {" -g --debug -ccbin --compiler-bindir -Xcompiler --compiler-options -Xlinker --linker-options -Xarchive "
     "-shared ",
     "there is no equivalent, because no host code is compiled or linked: leave it out"},
    {" -x ", "leave it out: every source is CUDA C++"}};

// Returns what replaces a flag of nvcc, or an empty text. `has_value` is true if a value follows.
std::string_view nvcc_remedy(const std::string& word, bool has_value) {
  std::string name = word.substr(0, word.find('='));
  // nvcc takes -lNAME as one word. -lineinfo is a flag of NVRTC.
  if (word.starts_with("-l") && !word.starts_with("-lineinfo")) name = "-l";
  if (has_value && (name == "-Xptxas" || name == "--ptxas-options")) return {};  // a flag of NVRTC too
  const auto* const found = std::find_if(
      std::begin(kNvccFlags), std::end(kNvccFlags),
      [&](const NvccFlag& flag) { return flag.names.find(" " + name + " ") != std::string_view::npos; });
  return found == std::end(kNvccFlags) ? std::string_view() : found->remedy;
}

// Adds the full names of the verbs below `app` that have the option.
void find_verbs_with(const CLI::App& app, const std::string& option, std::vector<std::string>& verbs) {
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->get_option_no_throw(option) != nullptr) verbs.push_back("`" + full_name(*verb) + "`");
    find_verbs_with(*verb, option, verbs);
  }
}

// Returns "--source is an option of `cubinet compile`", or an empty text if no verb has the option.
std::string owners_of(const CLI::App& verb, const std::string& option) {
  constexpr std::size_t kListed = 3;
  const CLI::App* root = &verb;
  while (root->get_parent() != nullptr)
    root = root->get_parent();
  std::vector<std::string> verbs;
  find_verbs_with(*root, option, verbs);
  if (verbs.empty()) return {};
  const bool more = verbs.size() > kListed;
  if (more) verbs.resize(kListed);
  return option + " is an option of " + join(verbs) + (more ? " and others" : "") + "; " + more_help(verb);
}

// Returns the remedy for the unknown option `word`. `next` is the word that follows it on the line,
// if that is unexpected too.
std::string unknown_option_remedy(const CLI::App& verb, const std::string& word,
                                  const std::optional<std::string>& next) {
  const std::string name = word.substr(0, word.find('='));
  const bool compiles = verb.get_option_no_throw("--flag") != nullptr;
  if (std::string owners = owners_of(verb, name); !owners.empty()) return owners;
  if (compiles) {
    const std::string_view remedy = nvcc_remedy(word, next.has_value() || name != word);
    if (!remedy.empty()) return std::string(remedy);
  }
  const std::vector<std::string> near = nearest_names(name, option_names(verb));
  if (!near.empty() && !(compiles && is_spelled_as_compiler_flag(name)))
    return "did you mean " + join(near, " or ") + "?";
  if (!compiles) return verbs_of(verb).empty() ? more_help(verb) : verb_list(verb);
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
  const bool has_verbs = !verbs_of(app).empty();
  // The options behind a misspelled verb are unknown because of it.
  if (has_verbs && !app.remaining().empty() && !app.remaining().front().starts_with('-'))
    return unknown_verb(app, app.remaining().front());
  const auto option = first_option(extras);
  if (option != extras.end()) {
    const auto next = option + 1 == extras.end() ? std::nullopt : std::optional(*(option + 1));
    return Error{ErrorCode::invalid_argument, message_of(error, root),
                 unknown_option_remedy(app, *option, next)};
  }
  return Error{ErrorCode::invalid_argument, message_of(error, root),
               has_verbs ? verb_list(app) : more_help(app)};
}

}  // namespace cubinet::cli
