// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/spec/compiler_options.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>

namespace cubinet {
namespace {

constexpr std::string_view kDefine = "D:";
constexpr std::string_view kUndefine = "U:";
constexpr std::string_view kRelocatable = "relocatable-device-code";
constexpr std::string_view kLinkTimeOptimisation = "dlink-time-opt";

struct Spelling {
  std::string_view written;
  std::string_view name;
};
// NVRTC's short names ("Supported Compile Options" in its documentation of CUDA 13.0 and 13.5).
constexpr std::array<Spelling, 26> kSpellings = {{{"D", "define-macro"},
                                                  {"U", "undefine-macro"},
                                                  {"I", "include-path"},
                                                  {"include", "pre-include"},
                                                  {"arch", "gpu-architecture"},
                                                  {"lineinfo", "generate-line-info"},
                                                  {"G", "device-debug"},
                                                  {"dopt", "dopt"},
                                                  {"Ofc", "Ofast-compile"},
                                                  {"Xptxas", "ptxas-options"},
                                                  {"default-device", "device-as-default-execution-space"},
                                                  {"w", "disable-warnings"},
                                                  {"opt-info", "optimization-info"},
                                                  {"err-no", "display-error-number"},
                                                  {"no-err-no", "no-display-error-number"},
                                                  {"brief-diag", "brief-diagnostics"},
                                                  {"no-lineinfo-ia", "no-lineinfo-inlined-at"},
                                                  {"jtd", "jump-table-density"},
                                                  {"rdc", "relocatable-device-code"},
                                                  {"dc", "device-c"},
                                                  {"dw", "device-w"},
                                                  {"ewp", "extensible-whole-program"},
                                                  {"dlto", "dlink-time-opt"},
                                                  {"optix", "optix-ir"},
                                                  {"time", "time"},
                                                  {"std", "std"}}};

struct Refusal {
  std::string_view name;
  std::string_view reason;
};
constexpr std::string_view kReadsFiles = "it reads a file that the build would not answer for";
constexpr std::string_view kWritesFiles = "it writes files";
constexpr std::string_view kOtherProduct = "what it makes is no cubin";
constexpr std::string_view kSayRelocatable = "say -rdc=true, which links with libraries too";
constexpr std::string_view kSaidElsewhere = "cubinet says that itself";
constexpr std::array<Refusal, 21> kRefusals = {
    {{"pre-include", "a file to pre-include is named with `SourceProgram::preludes`"},
     {"use-pch", kReadsFiles},
     {"pch", kWritesFiles},
     {"create-pch", kWritesFiles},
     {"pch-dir", kWritesFiles},
     {"pch-messages", kWritesFiles},
     {"pch-verbose", kWritesFiles},
     {"instantiate-templates-in-pch", kWritesFiles},
     {"time", kWritesFiles},
     {"fdevice-time-trace", kWritesFiles},
     {"use-bundled-headers", kWritesFiles},
     {"extensible-whole-program", kSayRelocatable},
     {"gen-opt-lto", "say -dlto"},
     {"optix-ir", kOtherProduct},
     {"tile-only", kOtherProduct},
     {"fdevice-syntax-only", "it makes nothing"},
     {"gpu-architecture", "the target says it"},
     {"include-path", "folders of headers are named with `CompileOptions::include_directories`"},
     {"no-cache", kSaidElsewhere},
     {"no-source-include", kSaidElsewhere}}};

// Returns whether the next flag is this flag's value if there is no "=", even if it begins with
// '-'.
bool takes_next(std::string_view name) {
  constexpr std::array<std::string_view, 3> kNames = {"define-macro", "undefine-macro", "ptxas-options"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Returns whether the option requires a value.
bool wants_value(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"std", "maxrregcount", "Ofast-compile", kRelocatable};
  return takes_next(name) || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

constexpr std::string_view kPtxasOptions = "ptxas-options";

// Returns whether an option of ptxas makes it read or write a file. Options that take a file are
// listed by name. Others are recognised by a path.
bool names_file(std::string_view option) {
  constexpr std::array<std::string_view, 4> kNames = {"options-file", "optf", "apply-controls",
                                                      "fdevice-time-trace"};
  const std::string_view word = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  return option.starts_with('@') || option.find('/') != std::string_view::npos ||
         std::find(kNames.begin(), kNames.end(), word.substr(0, word.find('='))) != kNames.end();
}

// Returns whether several values form one list.
bool is_list(std::string_view name) {
  return name == kPtxasOptions || name.starts_with("diag-");
}

struct Flag {
  std::string name;
  std::optional<std::string> value;
};

Error bad(const std::string& flag, const std::string& reason, std::string remedy = {}) {
  return Error{ErrorCode::invalid_argument,
               "the compiler's flag '" + printable(flag.substr(0, 200)) + "': " + reason, std::move(remedy)};
}

Result<Flag> split(const std::string& flag) {
  const std::size_t begin = flag.starts_with("--") ? 2 : 1;
  if (!flag.starts_with('-') || flag.size() <= begin) return bad(flag, "a flag begins with '-'");
  // "-DN=4", "-UN", "-I/a": the value follows the letter directly.
  if (begin == 1 && flag.size() > 2 && std::string_view("DUI").find(flag[1]) != std::string_view::npos)
    return Flag{flag.substr(1, 1), flag.substr(2)};
  const std::size_t equals = std::min(flag.find('='), flag.size());
  Flag parts{flag.substr(begin, equals - begin), std::nullopt};
  if (equals < flag.size()) parts.value = flag.substr(equals + 1);
  return parts;
}

std::string long_name(const std::string& written) {
  const auto found = std::find_if(kSpellings.begin(), kSpellings.end(),
                                  [&](const Spelling& spelling) { return spelling.written == written; });
  return found == kSpellings.end() ? written : std::string(found->name);
}

// Returns the macro's name: F for "F(x)", a macro with parameters.
std::string_view word_of(std::string_view macro) {
  return macro.substr(0, macro.find('('));
}

// Returns the macro that an option defines or undefines, or an empty text for any other option.
std::string_view macro_of(std::string_view option) {
  if (!option.starts_with(kDefine) && !option.starts_with(kUndefine)) return {};
  return word_of(option.substr(kDefine.size()));
}

bool is_macro_name(std::string_view name) {
  const std::string_view word = word_of(name);
  return !word.empty() && !(word.front() >= '0' && word.front() <= '9') &&
         std::all_of(word.begin(), word.end(), is_word_character);
}

// Returns whether a compiler flag can carry the text: it contains no character that ends a flag.
bool is_clean(std::string_view text) {
  return text.find('\0') == std::string_view::npos && text.find('\n') == std::string_view::npos;
}

Result<void> add(CompilerOptions& options, const std::string& flag, std::string name, std::string value) {
  if (!is_clean(name) || !is_clean(value)) return bad(flag, "it holds a line's end");
  const auto [there, is_new] = options.try_emplace(std::move(name), value);
  if (is_new || there->second == value) return {};
  if (is_list(there->first)) {
    there->second += "," + value;
    return {};
  }
  return bad(flag, "it was given another value before ('" + printable(there->second) + "')");
}

Result<void> add_macro(CompilerOptions& options, const std::string& flag, const std::string& text,
                       bool defines) {
  const std::size_t equals = defines ? std::min(text.find('='), text.size()) : text.size();
  const std::string name = text.substr(0, equals);
  if (!is_macro_name(name)) return bad(flag, "'" + printable(name) + "' is no name of a macro");
  // The last definition of a macro counts, with or without parameters, as on every command line.
  const std::string key = std::string(defines ? kDefine : kUndefine) + name;
  std::erase_if(options, [&](const auto& option) {
    return macro_of(option.first) == word_of(name) && option.first != key;
  });
  const std::string value = !defines ? "" : equals < text.size() ? text.substr(equals + 1) : "1";
  return add(options, flag, key, value);
}

Result<void> check_ptxas_options(const std::string& flag, const std::string& value) {
  std::istringstream list(value);
  for (std::string option; std::getline(list, option, ',');) {
    if (names_file(option))
      return bad(flag,
                 "it is not taken: ptxas would read or write a file that the build would not answer for",
                 "give the options themselves");
  }
  return {};
}

// Drops what other options imply. Code for link-time optimisation is always relocatable.
void drop_what_is_implied(CompilerOptions& options) {
  if (!options.contains(kLinkTimeOptimisation)) return;
  if (const auto found = options.find(kRelocatable); found != options.end()) options.erase(found);
}

}  // namespace

Result<CompilerOptions> parse_compiler_flags(std::span<const std::string> flags) {
  CompilerOptions options;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string& flag = flags[i];
    CUBINET_TRY_ASSIGN(Flag parts, split(flag));
    // Options that define macros have names with ':'.
    if (parts.name.find(':') != std::string::npos) return bad(flag, "no flag's name holds ':'");
    std::string name = long_name(parts.name);
    if (name == "device-c" || name == "device-w") {
      if (parts.value) return bad(flag, "it takes no value");
      parts.value = name == "device-c" ? "true" : "false";
      name = kRelocatable;
    }
    const auto refusal = std::find_if(kRefusals.begin(), kRefusals.end(),
                                      [&](const Refusal& refused) { return refused.name == name; });
    if (refusal != kRefusals.end())
      return bad(flag, "it is not taken: " + std::string(refusal->reason), "leave it out");
    const bool more = i + 1 < flags.size();
    if (!parts.value && more && (takes_next(name) || !flags[i + 1].starts_with('-')))
      parts.value = flags[++i];
    if (!parts.value && wants_value(name)) return bad(flag, "its value is missing");
    if (name == kRelocatable) {
      if (parts.value == "false") continue;  // the default
      if (parts.value != "true") return bad(flag, "it is true or false");
    }
    if (name == kPtxasOptions) CUBINET_TRY(check_ptxas_options(flag, *parts.value));
    if (name == "define-macro" || name == "undefine-macro") {
      CUBINET_TRY(add_macro(options, flag, *parts.value, name == "define-macro"));
    } else {
      CUBINET_TRY(add(options, flag, name, parts.value.value_or("")));
    }
  }
  drop_what_is_implied(options);
  return options;
}

std::vector<std::string> compiler_flags(const CompilerOptions& options) {
  std::vector<std::string> flags;
  for (const auto& [name, value] : options) {
    if (name.starts_with(kDefine)) {
      flags.push_back("-D" + name.substr(kDefine.size()) + "=" + value);
    } else if (name.starts_with(kUndefine)) {
      flags.push_back("-U" + name.substr(kUndefine.size()));
    } else if (name == kPtxasOptions) {
      // NVRTC 13.0 passes the whole value to ptxas as one option.
      std::istringstream list(value);
      for (std::string option; std::getline(list, option, ',');)
        flags.push_back("--" + name + "=" + option);
    } else {
      flags.push_back("--" + name + (value.empty() ? "" : "=" + value));
    }
  }
  return flags;
}

std::vector<std::pair<std::string, std::string>> defined_macros(const CompilerOptions& options) {
  std::vector<std::pair<std::string, std::string>> macros;
  for (const auto& [name, value] : options) {
    if (name.starts_with(kDefine)) macros.emplace_back(name.substr(kDefine.size()), value);
  }
  return macros;
}

bool says_macro(const CompilerOptions& options, std::string_view macro) {
  return std::any_of(options.begin(), options.end(),
                     [&](const auto& option) { return !macro.empty() && macro_of(option.first) == macro; });
}

CompilerOptions with_defaults(CompilerOptions given, const CompilerOptions& defaults) {
  const CompilerOptions said = given;
  for (const auto& [name, value] : defaults) {
    if (!says_macro(said, macro_of(name))) given.try_emplace(name, value);
  }
  drop_what_is_implied(given);
  return given;
}

}  // namespace cubinet
