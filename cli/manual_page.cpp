// SPDX-License-Identifier: Apache-2.0
#include "manual_page.hpp"

#include <cubinet/base/roff.hpp>
#include <cubinet/base/text.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

std::string option_text(const OptionEntry& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(roff_bold(name));
  std::string tag = join(names, ", ");
  if (!option.value.empty()) tag += (tag.empty() ? "" : " ") + roff_italic(option.value);
  std::string description = roff_escaped(option.description);
  if (!option.choices.empty()) description += " (" + roff_escaped(join(option.choices, ", ")) + ")";
  if (option.required) description += " (required)";
  return ".TP\n" + tag + "\n" + description + "\n";
}

// Prints the text before the examples, which keeps its lines, and the examples.
std::string footer_text(std::string_view footer) {
  while (!footer.empty() && footer.back() == '\n')
    footer.remove_suffix(1);
  return footer.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", roff_escaped(footer));
}

std::string synopsis_of(const VerbEntry& verb) {
  std::string line = roff_bold("cubinet " + verb.words) + " [" + roff_italic("OPTION") + "]...";
  for (const OptionEntry& argument : verb.arguments) {
    const std::string name = roff_italic(argument.value) + (argument.repeated ? "..." : "");
    line += " " + (argument.required ? name : "[" + name + "]");
  }
  return line;
}

std::string verb_text(const VerbEntry& verb) {
  std::string text =
      fmt::format(".SS cubinet {}\n{}.\n", roff_escaped(verb.words), roff_escaped(verb.description));
  text += ".PP\n" + synopsis_of(verb) + "\n";
  for (const OptionEntry& argument : verb.arguments)
    text += option_text(argument);
  for (const OptionEntry& option : verb.options)
    text += option_text(option);
  return text + footer_text(verb.footer);
}

}  // namespace

std::string manual_page(const VerbTable& table, std::string_view version) {
  const VerbEntry& tool = table.verbs.front();
  std::string page = fmt::format(
      ".\\\" Printed by `cubinet manual`.\n.TH CUBINET 1 \"\" \"cubinet {}\" \"User Commands\"\n.SH NAME\n"
      "cubinet \\- {}\n.SH SYNOPSIS\n{} [{}]... {} [{}]...\n",
      version, roff_escaped(tool.description.substr(tool.description.find(": ") + 2)), roff_bold("cubinet"),
      roff_italic("OPTION"), roff_italic("VERB"), roff_italic("ARGUMENT"));
  page +=
      ".SH DESCRIPTION\nThe verbs of the tool and their options. The options of every verb may precede, "
      "separate or follow the verbs.\n.SH OPTIONS OF EVERY VERB\n";
  for (const OptionEntry& option : table.common)
    page += option_text(option);
  page += ".SH VERBS\n";
  for (const VerbEntry& verb : table.verbs)
    if (!verb.words.empty() && verb.verbs.empty()) page += verb_text(verb);
  return page + ".SH NOTES\n" + footer_text(tool.footer);
}

}  // namespace cubinet::cli
