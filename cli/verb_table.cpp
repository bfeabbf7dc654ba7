// SPDX-License-Identifier: Apache-2.0
#include "verb_table.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace cubinet::cli {
namespace {

// Splits "a,b" of "{a,b}".
std::vector<std::string> words_in_braces(std::string_view text) {
  std::vector<std::string> words;
  text = text.substr(1, text.find('}') - 1);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames())
    entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    entry.names.push_back("--" + name);
  // CLI11 writes "TYPE:{a,b}" for a value from a fixed set.
  const std::string type = option.get_type_name();
  const std::size_t brace = type.find('{');
  if (brace != std::string::npos) entry.choices = words_in_braces(std::string_view(type).substr(brace));
  if (option.get_positional()) {
    entry.value = option.get_single_name();
  } else if (option.get_type_size() != 0) {
    entry.value = type.substr(0, brace);
    while (!entry.value.empty() && entry.value.back() == ':')
      entry.value.pop_back();
  }
  entry.description = option.get_description();
  entry.required = option.get_required();
  entry.repeated = option.get_expected_max() > 1;
  return entry;
}

void add_verb(const CLI::App& app, const std::string& words, VerbTable& table) {
  VerbEntry verb;
  verb.words = words;
  verb.description = app.get_description();
  verb.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      verb.arguments.push_back(entry_of(*option));
    } else if (option->get_group() != kCommonOptions) {
      verb.options.push_back(entry_of(*option));
    }
  }
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* next : verbs)
    verb.verbs.push_back(next->get_name());
  table.verbs.push_back(std::move(verb));
  for (const CLI::App* next : verbs)
    add_verb(*next, words.empty() ? next->get_name() : words + " " + next->get_name(), table);
}

}  // namespace

bool OptionEntry::names_file() const {
  if (!choices.empty()) return false;
  if (names.empty()) return true;
  constexpr std::string_view kFiles[] = {"BUNDLE", "FILE", "FOLDER"};
  return std::any_of(std::begin(kFiles), std::end(kFiles),
                     [&](std::string_view file) { return value.find(file) != std::string::npos; });
}

std::vector<std::string> VerbTable::names_with_value() const {
  std::set<std::string> names;
  const auto add = [&](const std::vector<OptionEntry>& options) {
    for (const OptionEntry& option : options)
      if (!option.value.empty()) names.insert(option.names.begin(), option.names.end());
  };
  add(common);
  for (const VerbEntry& verb : verbs)
    add(verb.options);
  return {names.begin(), names.end()};
}

VerbTable verb_table(const CLI::App& root) {
  VerbTable table;
  for (const CLI::Option* option : root.get_options())
    if (option->get_group() == kCommonOptions) table.common.push_back(entry_of(*option));
  add_verb(root, "", table);
  return table;
}

}  // namespace cubinet::cli
