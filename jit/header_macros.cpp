// SPDX-License-Identifier: Apache-2.0
#include "header_macros.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumNames = 64;
constexpr std::size_t kMaximumDefinitions = 64;  // of one name
constexpr std::size_t kMaximumEnvironments = 4096;
constexpr std::size_t kStepsOfOperand = 200'000;
constexpr std::size_t kQuoted = 40;  // characters of a definition, in a message

// Prefixes of macros that NVRTC 13.0 and 13.5 define, besides names with "__" at both ends.
constexpr std::array<std::string_view, 9> kFamilies = {"__CUDA", "__NV",   "_NV_",   "NV_",   "__cpp_",
                                                       "__has_", "__GNUC", "__STDC", "CUDART"};
constexpr std::array<std::string_view, 4> kOthers = {"__cplusplus", "NULL", "assert", "va_arg"};

bool is_of_compiler(std::string_view name) {
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) return true;
  return std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end() ||
         std::any_of(kFamilies.begin(), kFamilies.end(),
                     [&](std::string_view f) { return name.starts_with(f); });
}

// Returns whether a release of the compiler may define this name, judged by its form.
bool may_be_of_compiler(std::string_view name) {
  return name.starts_with('_') ||
         std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

std::string by_compiler(const std::string& name) {
  return "'" + name + "' may be a macro of the compiler's own";
}

bool is_absolute(std::string_view header) {
  return header.size() > 1 && header[1] == '/';
}

}  // namespace

// One combination of the macros' definitions. The next combination changes the last choice that has
// an alternative left.
class HeaderMacros::Environment final : public MacroEnvironment {
 public:
  explicit Environment(std::unordered_map<std::string, Definitions>& definitions)
      : definitions_(definitions) {}

  // Advances to the next combination. Returns false if there is none.
  bool go_on() {
    chosen_.clear();
    emptied_.clear();
    made_ = 0;
    while (!choices_.empty() && choices_.back().which + 1 == choices_.back().of)
      choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().which;
    return true;
  }
  // Returns the word that was taken for an empty macro of the compiler; empty if there is none.
  const std::string& emptied() const { return emptied_; }

  bool replaces_again() override { return choose(2) == 0; }

  const MacroDefinition* find(const std::string& name, bool called, std::string& unknown) override {
    if (const auto known = chosen_.find(name); known != chosen_.end()) return known->second;
    const auto found = definitions_.find(name);
    const MacroDefinition* macro = found == definitions_.end() ? of_compiler(name, called, unknown)
                                                               : of_texts(name, found->second, unknown);
    chosen_.emplace(name, macro);
    return macro;
  }

 private:
  struct Choice {
    std::size_t which;
    std::size_t of;
  };

  std::size_t choose(std::size_t of) {
    if (of == 1) return 0;
    if (made_ == choices_.size()) choices_.push_back({0, of});
    return choices_[made_++].which;
  }

  const MacroDefinition* of_compiler(const std::string& name, bool called, std::string& unknown) {
    static const MacroDefinition kEmpty;
    if (is_of_compiler(name) || (called && may_be_of_compiler(name))) unknown = by_compiler(name);
    if (!unknown.empty() || !may_be_of_compiler(name) || choose(2) == 0) return nullptr;
    emptied_ = name;
    return &kEmpty;
  }

  const MacroDefinition* of_texts(const std::string& name, Definitions& macro, std::string& unknown) {
    if (macro.too_many) unknown = "'" + name + "' has more than 64 definitions";
    while (macro.read.size() < macro.bodies.size())
      macro.read.push_back(MacroDefinition::read(macro.bodies[macro.read.size()]));
    const std::size_t count = macro.read.size();
    const std::size_t which = choose(count + 1 + (is_of_compiler(name) ? 1 : 0));
    if (which > count) unknown = by_compiler(name);
    if (which >= count) return nullptr;
    if (macro.read[which]) return &*macro.read[which];
    unknown = "what follows from this definition of '" + name +
              "' is not known:" + (macro.bodies[which].starts_with(' ') ? "" : " ") +
              macro.bodies[which].substr(0, kQuoted);
    return nullptr;
  }

  std::unordered_map<std::string, Definitions>& definitions_;
  std::unordered_map<std::string, const MacroDefinition*> chosen_;
  std::vector<Choice> choices_;
  std::size_t made_ = 0;  // of the choices, in this environment
  std::string emptied_;
};

std::vector<std::pair<std::string, std::string>> header_macros(const CompilerOptions& options) {
  auto macros = defined_macros(options);
  for (auto& [name, value] : macros) {
    const std::size_t open = std::min(name.find('('), name.size());
    value = name.substr(open) + " " + value;
    name.resize(open);
  }
  return macros;
}

void HeaderMacros::define(std::string_view name, std::string_view body) {
  Definitions& macro = definitions_[std::string(name)];
  if (macro.too_many || std::find(macro.bodies.begin(), macro.bodies.end(), body) != macro.bodies.end())
    return;
  found_.clear();
  macro.too_many = macro.bodies.size() == kMaximumDefinitions;
  if (macro.too_many) return;
  macro.bodies.emplace_back(body);
}

const MacroHeaders& HeaderMacros::headers_of(const std::string& operand) {
  const auto known = found_.find(operand);
  return known != found_.end() ? known->second : found_.emplace(operand, found(operand)).first->second;
}

MacroHeaders HeaderMacros::found(const std::string& operand) {
  MacroHeaders headers;
  const auto tokens = macro_tokens(operand);
  if (!tokens) {
    headers.unknown = "it is not known how the compiler reads this text";
    return headers;
  }
  std::set<std::string> names;
  std::size_t steps = std::min(kStepsOfOperand, steps_left_);
  const std::size_t allowed = steps;
  Environment environment(definitions_);
  std::size_t left = kMaximumEnvironments;
  do {
    MacroExpansion expansion(environment, steps);
    std::string name = expansion.header_name(*tokens);
    std::string unknown = expansion.unknown();
    if (!environment.emptied().empty()) {
      if (is_absolute(name)) unknown = by_compiler(environment.emptied());
      name.clear();
    }
    if (!name.empty()) names.insert(std::move(name));
    const bool is_last = --left == 0 || names.size() > kMaximumNames;
    if (is_last && unknown.empty()) unknown = "there are too many ways in which its macros may be defined";
    if (headers.unknown.empty()) headers.unknown = unknown;
    if (is_last) break;
  } while (environment.go_on());
  steps_left_ -= allowed - steps;
  headers.names.assign(names.begin(), names.end());
  return headers;
}

}  // namespace cubinet
