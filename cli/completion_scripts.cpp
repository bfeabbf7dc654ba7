// SPDX-License-Identifier: Apache-2.0
#include "completion_scripts.hpp"

#include "arguments.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace cubinet::cli {
namespace {

// The verb whose arguments after -- are another command.
constexpr std::string_view kServing = "serve-warm";

std::string with_underscores(std::string words) {
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return words;
}

std::string names_of(const std::vector<OptionEntry>& options) {
  std::vector<std::string> names;
  for (const OptionEntry& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return join(names, " ");
}

// Returns the words of all verbs, each quoted, for a pattern of `case`.
std::string verb_patterns(const VerbTable& table, std::string_view separator) {
  std::vector<std::string> words;
  for (const VerbEntry& verb : table.verbs)
    if (!verb.words.empty()) words.push_back("' " + verb.words + "'");
  return join(words, separator);
}

// Returns the branches of a `case` on "verb option" that complete the value of an option.
std::string bash_values(const VerbTable& table) {
  std::string branches;
  const auto add = [&](const std::string& pattern, const OptionEntry& option) {
    if (option.names.empty() || option.value.empty()) return;
    const std::string action =
        option.names_file() ? "compopt -o default 2>/dev/null" : "words='" + join(option.choices, " ") + "'";
    if (!option.names_file() && option.choices.empty()) return;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names)
      patterns.push_back(pattern + "' " + name + "'");
    branches += fmt::format("      {}) {} ;;\n", join(patterns, " | "), action);
  };
  for (const VerbEntry& verb : table.verbs)
    for (const OptionEntry& option : verb.options)
      add(verb.words.empty() ? "" : "' " + verb.words + "'", option);
  for (const OptionEntry& option : table.common)
    add("*", option);
  return branches;
}

std::string zsh_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    if (c == '\'') {
      escaped += "'\\''";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string zsh_value(const OptionEntry& option) {
  const std::string action = !option.choices.empty() ? "(" + join(option.choices, " ") + ")"
                             : option.names_file()   ? "_files"
                                                     : " ";
  return ":" + zsh_escaped(option.value) + ":" + action;
}

std::string zsh_option(const OptionEntry& option) {
  std::string spec;
  for (const std::string& name : option.names) {
    const std::string_view value = option.value.empty() ? "" : name.size() == 2 ? "+" : "=";
    const std::string others =
        option.repeated || option.value.empty() ? "*" : "(" + join(option.names, " ") + ")";
    spec += fmt::format(" \\\n    '{}{}{}[{}]{}'", others, name, value, zsh_escaped(option.description),
                        option.value.empty() ? "" : zsh_value(option));
  }
  return spec;
}

std::string zsh_function(const VerbTable& table, const VerbEntry& verb) {
  // `help` takes the words of a verb. The first word of what is completed counts as the command.
  if (verb.words == "help") return "_cubinet_help() {\n  _cubinet \"$@\"\n}\n";
  const std::string name = "_cubinet" + (verb.words.empty() ? "" : "_" + with_underscores(verb.words));
  std::string text = name + "() {\n";
  if (!verb.verbs.empty()) text += "  local curcontext=$curcontext state line\n  local -a verbs\n";
  text += verb.verbs.empty() ? "  _arguments -s -S" : "  _arguments -C -s";
  for (const std::vector<OptionEntry>* options : {&verb.options, &table.common})
    for (const OptionEntry& option : *options)
      text += zsh_option(option);
  if (verb.verbs.empty()) {
    for (const OptionEntry& argument : verb.arguments)
      text += fmt::format(" \\\n    '{}{}'", argument.repeated ? "*" : "", zsh_value(argument));
    if (verb.words == kServing) text += " \\\n    '*::command:_normal'";
    return text + "\n}\n";
  }
  text += " \\\n    '1: :->verb' \\\n    '*:: :->rest'\n  case $state in\n    verb)\n      verbs=(\n";
  for (const std::string& word : verb.verbs) {
    const std::string words = verb.words.empty() ? word : verb.words + " " + word;
    const auto entry = std::find_if(table.verbs.begin(), table.verbs.end(),
                                    [&](const VerbEntry& each) { return each.words == words; });
    text += fmt::format("        '{}:{}'\n", word, zsh_escaped(entry->description));
  }
  return text +
         fmt::format(
             "      )\n      _describe -t verbs verb verbs ;;\n    rest)\n"
             "      (( $+functions[{0}_${{words[1]//-/_}}] )) && {0}_${{words[1]//-/_}} ;;\n  esac\n}}\n",
             name);
}

std::string fish_option(const std::string& condition, const OptionEntry& option) {
  std::string line = "complete -c cubinet" + condition;
  for (const std::string& name : option.names)
    line += (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
  if (!option.choices.empty()) {
    line += " -x -a '" + join(option.choices, " ") + "'";
  } else if (!option.value.empty()) {
    line += option.names_file() ? " -r -F" : " -x";
  }
  std::string description = option.description;
  for (std::size_t at = 0; (at = description.find_first_of("\\'", at)) != std::string::npos; at += 2)
    description.insert(at, 1, '\\');
  return line + " -d '" + description + "'\n";
}

}  // namespace

std::string bash_completion(const VerbTable& table) {
  std::string names;
  std::string verbs;
  for (const VerbEntry& verb : table.verbs) {
    const std::string pattern = verb.words.empty() ? "''" : "' " + verb.words + "'";
    names += fmt::format("        {}) words='{}' ;;\n", pattern, names_of(verb.options));
    std::vector<std::string> next = verb.verbs;
    bool takes_file = false;
    for (const OptionEntry& argument : verb.arguments) {
      next.insert(next.end(), argument.choices.begin(), argument.choices.end());
      takes_file = takes_file || argument.names_file();
    }
    // Files are offered if no word begins as typed.
    if (!next.empty())
      verbs += fmt::format("        {}) words='{}'{} ;;\n", pattern, join(next, " "),
                           takes_file ? "; compopt -o default 2>/dev/null" : "");
  }
  return fmt::format(R"(# Bash completion for cubinet, printed by `cubinet completion bash`.
_cubinet() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} verb='' option='' served='' word words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    if [[ $option ]]; then
      [[ $word == = ]] || option=''  # Bash separates --name=value at the sign.
      continue
    fi
    case $word in
      {0}) option=$word ;;
      --)
        if [[ $verb == ' {6}' ]]; then
          served=$((i + 1))
          break
        fi
        ;;
      -*) ;;
      *)
        case "$verb $word" in
          ' help') ;;  # It takes the words of a verb.
          {1}) verb+=" $word" ;;
        esac
        ;;
    esac
  done
  if [[ $served ]]; then
    if declare -F _command_offset >/dev/null; then
      _command_offset "$served"
    elif ((COMP_CWORD == served)); then
      COMPREPLY=($(compgen -c -- "$current"))
    else
      compopt -o default 2>/dev/null
    fi
    return
  fi
  if [[ $option ]]; then
    [[ $current != = ]] || current=''
    case "$verb $option" in
{2}    esac
  elif [[ $current == -* ]]; then
    case $verb in
{3}    esac
    words+=' {4}'
  else
    case $verb in
{5}        *) compopt -o default 2>/dev/null ;;
    esac
  fi
  [[ ! $words ]] || COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _cubinet cubinet
)",
                     join(table.names_with_value(), " | "), verb_patterns(table, " | "), bash_values(table),
                     names, names_of(table.common), verbs, kServing);
}

std::string zsh_completion(const VerbTable& table) {
  std::string script =
      "#compdef cubinet\n# Zsh completion for cubinet, printed by `cubinet completion zsh`.\n";
  for (const VerbEntry& verb : table.verbs)
    script += zsh_function(table, verb);
  // The file is the body of the function _cubinet when zsh loads it, and may also be sourced.
  return script +
         "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n  _cubinet \"$@\"\nelse\n"
         "  compdef _cubinet cubinet\nfi\n";
}

std::string fish_completion(const VerbTable& table) {
  std::string script = fmt::format(R"(# Fish completion for cubinet, printed by `cubinet completion fish`.
function __cubinet_options --description 'Tests whether options may follow'
    not contains -- -- (commandline -opc)
end
function __cubinet_served --description 'Completes the command that serve-warm runs'
    set -l words (commandline -opc)
    set -l dashes (contains -i -- -- $words)
    complete -C (string join ' ' -- (string escape -- $words[(math $dashes + 1)..-1]) (commandline -ct))
end
function __cubinet_verb --description 'Tests whether the line has exactly these verbs'
    __cubinet_options || return
    set -l verb ''
    set -l is_value 0
    for word in (commandline -opc)[2..-1]
        if test $is_value = 1
            set is_value 0
            continue
        end
        switch $word
            case {}
                set is_value 1
            case '-*'
            case '*'
                switch "$verb $word"
                    case ' help'
                    case {}
                        set verb "$verb $word"
                end
        end
    end
    test "$verb" = "$argv[1]"
end
)",
                                   join(table.names_with_value(), " "), verb_patterns(table, " "));
  script += fmt::format(
      "complete -c cubinet -n 'not __cubinet_options && contains {} (commandline -opc)' -x -a "
      "'(__cubinet_served)'\n",
      kServing);
  for (const OptionEntry& option : table.common)
    script += fish_option(" -n __cubinet_options", option);
  for (const VerbEntry& verb : table.verbs) {
    const std::string words = verb.words.empty() ? "" : " " + verb.words;
    const std::string condition = " -n '__cubinet_verb \"" + words + "\"'";
    for (const OptionEntry& option : verb.options)
      script += fish_option(condition, option);
    for (const OptionEntry& argument : verb.arguments)
      if (!argument.choices.empty()) script += fish_option(condition + " -f", argument);
    for (const VerbEntry& next : table.verbs) {
      const std::size_t space = next.words.rfind(' ');
      const std::string parent = space == std::string::npos ? "" : next.words.substr(0, space);
      if (next.words.empty() || parent != verb.words) continue;
      OptionEntry word;
      word.choices = {next.words.substr(space == std::string::npos ? 0 : space + 1)};
      word.description = next.description;
      script += fish_option(condition + " -f", word);
    }
  }
  return script;
}

}  // namespace cubinet::cli
