// SPDX-License-Identifier: Apache-2.0
#include "application.hpp"

#include "arguments.hpp"
#include "context.hpp"
#include "usage_error.hpp"
#include "verb_table.hpp"
#include "verbs/verbs.hpp"

#include <cubinet/base/text.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>

namespace cubinet::cli {
namespace {

constexpr const char* kDescription =
    "cubinet: CUDA kernels by specification, found, verified, compiled on demand, loaded and launched";

constexpr const char* kExamples = R"(Examples:
  cubinet doctor
  cubinet templates attention_decode
  cubinet compile rms_norm -p hidden_size=4096 -p dtype=bf16 --target sm_90a -o rms_norm.cubin
  cubinet prebuild examples/matrix.json -o kernels.bundle
  cubinet bundle verify kernels.bundle
  cubinet import-artifacts flashinfer_cubin/cubins

Environment: CUBINET_HOME (the home), CUBINET_SITE_HOMES (read-only homes),
CUBINET_CUDA_WHEELS (folders with NVIDIA's wheels), CUBINET_LOG_FORMAT, CUDA_HOME, CUDA_PATH, XDG_CACHE_HOME,
HOME, NO_COLOR;
for servers HTTPS_PROXY, NO_PROXY, AWS_*, DOCKER_CONFIG.
Exit status: 0 done, 1 damage found or no answer, 2 wrong usage or input, 3 environment.)";

constexpr std::string_view kYes[] = {"true", "on", "yes", "enable", "+", "1"};
constexpr std::string_view kNo[] = {"false", "off", "no", "disable", "-", "0"};

template <std::size_t count>
bool is_among(const std::string_view (&words)[count], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// Refuses values of flags that CLI11 does not know, because CLI11 takes them for false.
std::string refuse_flag_value(std::string& value) {
  if (is_among(kYes, value) || is_among(kNo, value)) return {};
  return "'" + printable(value, kQuotedBytes) + "' is neither true nor false";
}

std::string refuse_missing_file(std::string& path) {
  std::error_code error;
  if (path.empty() || std::filesystem::is_regular_file(path, error)) return {};
  return "there is no file '" + printable(path, kQuotedBytes) + "'";
}

// Returns unavailable if the file of --nvrtc is no library, even if the verb needs no compiler. An
// empty file stands for no compiler.
Result<void> check_nvrtc(const std::string& file) {
  if (file.empty()) return {};
  constexpr std::array<char, 4> kElf = {'\x7f', 'E', 'L', 'F'};
  std::array<char, 4> begin{};
  std::ifstream(file, std::ios::binary).read(begin.data(), begin.size());
  std::error_code unknown;
  if (begin == kElf || std::filesystem::file_size(file, unknown) == 0) return {};
  return Error{ErrorCode::unavailable,
               "--nvrtc: '" + printable(file, kQuotedBytes) + "' is no shared library",
               "name a libnvrtc.so, or leave it out; `cubinet doctor` lists those that are found"};
}

// Adds the global options to one verb. Each verb has CLI11 options of its own, but all of them
// write to the same GlobalOptions, so that an option has the same effect anywhere on the line.
void add_global_options(CLI::App& app, GlobalOptions& options) {
  const auto once = [](std::string& slot, const char* name) {
    return [&slot, name](const std::string& text) {
      if (text.empty()) throw CLI::ValidationError(std::string(name) + ": the value is empty");
      if (!slot.empty()) throw CLI::ValidationError(std::string(name) + " is given twice");
      slot = text;
    };
  };
  const std::string group = kCommonOptions;
  app.add_option_function<std::string>("--home", once(options.home, "--home"),
                                       "The home that kernels are kept in (default: CUBINET_HOME)")
      ->type_name("FOLDER")
      ->group(group);
  const auto add_site_home = [&options](const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
      if (folder.empty()) throw CLI::ValidationError("--site-home: the value is empty");
      options.site_homes.push_back(folder);
    }
  };
  app.add_option_function<std::vector<std::string>>(
         "--site-home", add_site_home,
         "A home that others maintain (default: CUBINET_SITE_HOMES): searched after the home, never "
         "written; may be repeated")
      ->type_name("FOLDER")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option_function<std::string>("--nvrtc", once(options.nvrtc, "--nvrtc"),
                                       "The NVRTC library to use, and no other")
      ->check(CLI::Validator(refuse_missing_file, ""))
      ->type_name("FILE")
      ->group(group);
  app.add_option_function<std::string>("--policy", once(options.policy, "--policy"),
                                       "Whose signatures count for a bundle, before the home's policy.json")
      ->type_name("FILE")
      ->group(group);
  app.add_option_function<std::string>("--log-format", once(options.log_format, "--log-format"),
                                       "text or json: how messages are written (default: "
                                       "CUBINET_LOG_FORMAT, or text)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->group(group);
  add_integer(app, "--jobs", options.jobs, 1, 1024,
              "Compilations at a time (default: what processors and memory allow)")
      ->group(group);
  app.add_flag_function(
         "--json", [&options](std::int64_t count) { options.json = count > 0; },
         "One JSON document on stdout")
      ->check(CLI::Validator(refuse_flag_value, ""))
      ->group(group);
  app.add_flag_function(
         "-v,--verbose", [&options](std::int64_t count) { options.verbosity += static_cast<int>(count); },
         "Say more on stderr; twice: everything")
      ->check(CLI::Validator(refuse_flag_value, ""))
      ->group(group);
  app.set_version_flag("--version", std::string("cubinet ") + CUBINET_VERSION, "Print the version")
      ->group(group);
  app.set_help_flag("-h,--help", "Print what there is to know of a verb")->group(group);
  for (CLI::App* verb : app.get_subcommands({}))
    add_global_options(*verb, options);
}

// The formats are needed to report a line that could not be parsed. A format that does not exist
// leaves the format of the environment.
LogFormat stated_log_format(int argc, const char* const* argv, const EnvironmentVariables& environment) {
  constexpr std::string_view kOption = "--log-format";
  std::string format = environment.find("CUBINET_LOG_FORMAT").value_or("");
  const auto state = [&format](std::string_view value) {
    if (value == "json" || value == "text") format = value;
  };
  const auto* const end = std::find(argv, argv + argc, std::string_view("--"));
  for (const auto* word = argv; word != end; ++word) {
    const std::string_view argument = *word;
    if (argument == kOption && word + 1 != end) state(word[1]);
    if (argument.starts_with(kOption) && argument.substr(kOption.size()).starts_with('='))
      state(argument.substr(kOption.size() + 1));
  }
  return format == "json" ? LogFormat::json : LogFormat::text;
}

bool asks_for_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return false;
    if (argument == "--json") return true;
    if (argument.starts_with("--json=")) {
      const std::string_view value = argument.substr(argument.find('=') + 1);
      return !is_among(kNo, value);
    }
  }
  return false;
}

using AddVerb = void (*)(CLI::App&, Action&);

struct Verb {
  std::string_view name;
  AddVerb add;
  bool describes_all = false;  // if true, the line prints something about all verbs
};

constexpr Verb kVerbs[] = {{"doctor", add_doctor},
                           {"templates", add_templates},
                           {"key", add_key},
                           {"explain", add_explain},
                           {"select", add_select},
                           {"compile", add_compile},
                           {"prebuild", add_prebuild},
                           {"bundle", add_bundle},
                           {"import-artifacts", add_import_artifacts},
                           {"import-sources", add_import_sources},
                           {"mirror", add_mirror},
                           {"adopt", add_adopt},
                           {"materialize", add_materialize},
                           {"serve-warm", add_serve_warm},
                           {"inspect", add_inspect},
                           {"push", add_push},
                           {"pull", add_pull},
                           {"outdated", add_outdated},
                           {"report", add_report},
                           {"channel", add_channel},
                           {"registry", add_registry},
                           {"run", add_run},
                           {"bench", add_bench},
                           {"trust", add_trust},
                           {"tune", add_tune},
                           {"completion", add_completion, true},
                           {"manual", add_manual, true}};

constexpr const char* kHelp = "help";

void add_help(CLI::App& root, std::vector<std::string>& words) {
  CLI::App* verb = root.add_subcommand(kHelp, "Print what there is to know of a verb");
  verb->add_option("VERB", words, "The words of the verb (default: cubinet itself)")->type_name("");
  verb->footer(R"(Examples:
  cubinet help
  cubinet help bundle create)");
}

// A command line and the result of parsing it.
struct CommandLine {
  GlobalOptions options;
  Action chosen;
  CLI::App root{kDescription, "cubinet"};
  bool wants_version = false;
  bool wants_help = false;
  std::vector<std::string> help_words;  // the verb that follows `help`

  void add(const Verb& verb) { verb.add(root, chosen); }
  void parse(int argc, const char* const* argv) {
    argc = cut_command(argc, argv);
    add_help(root, help_words);
    root.footer(kExamples);
    root.require_subcommand(0, 1);
    add_global_options(root, options);
    try {
      root.parse(argc, argv);
    } catch (const CLI::CallForVersion&) {
      // `channel pin REF --version 3` means --bundle-version. It must not end with status 0.
      const auto* version = std::find(argv, argv + argc, std::string_view("--version"));
      if (argv + argc - version > 1 && std::isdigit(static_cast<unsigned char>(*version[1])) != 0)
        throw CLI::ArgumentMismatch(
            "--version prints the tool's version and takes no value; the version "
            "of a bundle is --bundle-version");
      wants_version = true;
    } catch (const CLI::Success&) {
      wants_help = true;
    }
  }
  // Takes the command of serve-warm, in which CLI11 would split "[1,2]", and returns the number of
  // words before it.
  int cut_command(int argc, const char* const* argv) {
    const auto* const end = argv + argc;
    const auto* const dashes = std::find(argv, end, std::string_view("--"));
    if (dashes == end || std::find(argv, dashes, std::string_view("serve-warm")) == dashes) return argc;
    options.command.assign(dashes + 1, end);
    return static_cast<int>(dashes - argv);
  }
  // Returns the application whose help is printed.
  Result<CLI::App*> help_subject() {
    if (wants_help) return &innermost_verb(root);
    return find_verb(root, help_words);
  }
  bool names_help() const { return root.got_subcommand(kHelp); }
  // Returns whether the result does not depend on the verbs that the line does not name. A list of
  // verbs depends on them.
  bool is_answered() const {
    return chosen || wants_version || (wants_help && !root.get_subcommands().empty());
  }
};

// Parses the line with only the options of the verbs that it names, because adding the hundreds of
// options of all verbs takes longer than many a command. Returns nullptr if the other verbs are
// needed too: for a list of verbs, or an error.
std::unique_ptr<CommandLine> parse_named_verbs(int argc, const char* const* argv) {
  auto line = std::make_unique<CommandLine>();
  for (const Verb& verb : kVerbs) {
    if (argc < 2 || std::find(argv + 1, argv + argc, verb.name) == argv + argc) continue;
    if (verb.describes_all) return nullptr;
    line->add(verb);
  }
  try {
    line->parse(argc, argv);
  } catch (const CLI::Error&) {
    return nullptr;
  }
  return line->is_answered() ? std::move(line) : nullptr;
}

ExitStatus print_help(Console& console, const CLI::App& app) {
  const std::string help = app.get_formatter()->make_help(&app, full_name(app), CLI::AppFormatMode::Normal);
  if (!console.json()) console.raw(help);
  console.document({{"help", help}});
  return ExitStatus::done;
}

ExitStatus parse_and_perform(int argc, const char* const* argv, const EnvironmentVariables& environment,
                             Console& console) {
  std::unique_ptr<CommandLine> line = parse_named_verbs(argc, argv);
  const bool parsed = line != nullptr;
  if (!parsed) {
    line = std::make_unique<CommandLine>();
    for (const Verb& verb : kVerbs)
      line->add(verb);
  }
  const Context context(environment, line->options, console);
  try {
    if (!parsed) line->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return context.fail(usage_error(line->root, error));
  }
  if (line->wants_version) {
    console.text(std::string("cubinet ") + CUBINET_VERSION);
    console.document({{"version", CUBINET_VERSION}});
    return ExitStatus::done;
  }
  if (line->wants_help || line->names_help()) {
    const auto subject = line->help_subject();
    return subject ? print_help(console, **subject) : context.fail(subject.error());
  }
  console.set_format(line->options.json ? OutputFormat::json : OutputFormat::text);
  console.set_verbosity(line->options.verbosity);
  if (!line->chosen) return context.fail(missing_verb_error(line->root));
  const auto log_format = context.log_format();
  if (!log_format) return context.fail(log_format.error());
  console.set_log_format(*log_format);
  if (const auto usable = context.check_environment(); !usable) return context.fail(usable.error());
  if (const auto usable = check_nvrtc(line->options.nvrtc); !usable) return context.fail(usable.error());
  const Result<ExitStatus> status = line->chosen(context);
  return status ? *status : context.fail(status.error());
}

}  // namespace

int run(int argc, const char* const* argv, const EnvironmentVariables& environment, std::string* output) {
  Console console(environment.find("NO_COLOR") ? Color::never : Color::automatic, output);
  console.set_format(asks_for_json(argc, argv) ? OutputFormat::json : OutputFormat::text);
  console.set_log_format(stated_log_format(argc, argv, environment));
  const GlobalOptions no_options;
  const Context context(environment, no_options, console);
  ExitStatus status = ExitStatus::negative;
  try {
    status = parse_and_perform(argc, argv, environment, console);
  } catch (const std::bad_alloc&) {
    status = context.fail(Error{ErrorCode::unavailable, "the memory does not suffice for this",
                                "ask for less at a time, or free some memory"});
  } catch (const std::exception& exception) {
    status = context.fail(Error{ErrorCode::internal, std::string("internal error: ") + exception.what(),
                                "please report it with the command line"});
  }
  if (const auto written = console.finish(); !written) {
    console.error(written.error());
    if (status == ExitStatus::done) status = ExitStatus::environment;
  }
  return static_cast<int>(status);
}

}  // namespace cubinet::cli
