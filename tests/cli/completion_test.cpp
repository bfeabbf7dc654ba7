// SPDX-License-Identifier: Apache-2.0
#include "support/text.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

using namespace cubinet::test;

namespace {

// The options and verbs that a help text lists, without the descriptions.
struct Help {
  std::set<std::string> options;
  std::set<std::string> verbs;
};

Help read_help(const std::vector<std::string>& verb) {
  std::vector<std::string> line = {"help"};
  line.insert(line.end(), verb.begin(), verb.end());
  std::istringstream text(run_tool(line).out);
  Help help;
  bool lists_verbs = false;
  for (std::string row; std::getline(text, row) && !row.starts_with("Example");) {
    if (!row.starts_with(" ")) lists_verbs = row == "Subcommands:";
    if (row.size() < 3 || !row.starts_with("  ") || row[2] == ' ') continue;
    const std::string word = row.substr(2, row.find(' ', 2) - 2);
    std::istringstream names(word);
    for (std::string name; word.front() == '-' && std::getline(names, name, ',');)
      help.options.insert(name);
    if (lists_verbs && word.front() != '-') help.verbs.insert(word);
  }
  return help;
}

void read_helps(const std::vector<std::string>& verb, std::map<std::vector<std::string>, Help>& helps) {
  const Help help = read_help(verb);
  helps[verb] = help;
  for (const std::string& next : help.verbs) {
    std::vector<std::string> words = verb;
    words.push_back(next);
    read_helps(words, helps);
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += word + " ";
  return text;
}

ToolResult run_shell(const std::string& shell, const std::vector<std::string>& arguments) {
  ToolSetting setting;
  setting.executable = shell;
  return run_tool(arguments, setting);
}

std::set<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

// Returns the path of a program, or an empty string if it is not installed.
std::string path_of(const std::string& shell) {
  for (const char* folder : {"/usr/bin/", "/bin/"})
    if (std::filesystem::exists(folder + shell)) return folder + shell;
  return "";
}

}  // namespace

TEST_CASE("Bash completes exactly the verbs and options that the help of each verb lists") {
  std::map<std::vector<std::string>, Help> helps;
  read_helps({}, helps);
  REQUIRE(helps.size() > 50);
  std::string script = run_tool({"completion", "bash"}).out + "compopt() { :; }\n";
  for (const auto& [verb, help] : helps) {
    for (const char* current : {"''", "-"})
      script += "COMP_WORDS=(cubinet " + joined(verb) + current +
                ") COMP_CWORD=" + std::to_string(verb.size() + 1) + "; _cubinet; echo \"${COMPREPLY[*]}\"\n";
  }
  const ToolResult completed = run_shell("/bin/bash", {"-c", script});
  REQUIRE(completed.status == 0);
  CHECK(completed.err.empty());
  std::istringstream lines(completed.out);
  for (const auto& [verb, help] : helps) {
    const std::string line_of_verb = joined(verb);
    CAPTURE(line_of_verb);
    std::string verbs;
    std::string options;
    std::getline(lines, verbs);
    std::getline(lines, options);
    if (!help.verbs.empty()) CHECK(words_of(verbs) == help.verbs);
    CHECK(words_of(options) == help.options);
  }
}

TEST_CASE("Bash completes the verbs after help, templates, and the known values of options") {
  const auto offered = [](const std::string& line) {
    const std::string words = line + " ''";
    const ToolResult completed = run_shell(
        "/bin/bash", {"-c", run_tool({"completion", "bash"}).out + "compopt() { :; }\nCOMP_WORDS=(" + words +
                                ") COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cubinet; echo "
                                "\"${COMPREPLY[*]}\"\n"});
    CHECK(completed.status == 0);
    return words_of(completed.out);
  };
  CHECK(offered("cubinet").contains("help"));
  CHECK(offered("cubinet help") == offered("cubinet"));
  CHECK(offered("cubinet help bundle") == offered("cubinet bundle"));
  CHECK(offered("cubinet compile").contains("attention_decode"));
  CHECK(offered("cubinet registry show").contains("rms_norm"));
  CHECK(offered("cubinet registry list --template").contains("rms_norm"));
  CHECK(offered("cubinet bundle create --profile") == std::set<std::string>{"archive", "plain", "ship"});
  CHECK(offered("cubinet compile --target").contains("sm_90a"));
  CHECK(offered("cubinet select attention --dtype-kv").contains("e4m3"));
  CHECK(offered("cubinet tune --backend").empty());
  CHECK(offered("cubinet run decode --backend").contains("published"));
  // Behind two dashes the command of serve-warm is completed, without the options of the tool.
  CHECK(offered("cubinet serve-warm --home x --").contains("bash"));
  CHECK(offered("cubinet serve-warm -- bash").empty());
  CHECK_FALSE(offered("cubinet registry show --").contains("bash"));
}

TEST_CASE("a name is an option with a value in all verbs or in none, as completions assume") {
  const std::string script = run_tool({"completion", "fish"}).out;
  std::map<std::string, std::set<bool>> takes_value;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t name = line.find(" -l ");
    if (!line.starts_with("complete ") || name == std::string::npos) continue;
    const std::string rest = line.substr(name + 4, line.find(" -d ") - name - 4);
    takes_value[rest.substr(0, rest.find(' '))].insert(rest.find(' ') != std::string::npos);
  }
  REQUIRE(takes_value.size() > 50);
  for (const auto& option : takes_value) {
    CAPTURE(option.first);
    CHECK(option.second.size() == 1);
  }
}

TEST_CASE("zsh and fish accept their scripts, and fish completes with its own") {
  const Sandbox sandbox;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const ToolResult printed = run_tool({"completion", shell});
    REQUIRE(printed.status == 0);
    CHECK(run_tool({"--json", "completion", shell}).json()["script"] == printed.out);
    sandbox.write(shell, printed.out);
    if (path_of(shell).empty()) continue;
    CAPTURE(shell);
    const ToolResult checked = run_shell(path_of(shell), {"-n", sandbox.path(shell)});
    CHECK_MESSAGE(checked.status == 0, checked.err);
    CHECK(checked.err.empty());
  }
  if (!path_of("fish").empty()) {
    const auto completed = [&](const std::string& line) {
      return run_shell(path_of("fish"), {"--no-config", "-c",
                                         "source " + sandbox.path("fish") + "; complete -C '" + line + "'"})
          .out;
    };
    CHECK(completed("cubinet bundle cre").starts_with("create\t"));
    CHECK(completed("cubinet --home bundle compile --emit ").starts_with("cubin\t"));
    CHECK(completed("cubinet pull --out").starts_with("--output\t"));
    CHECK(completed("cubinet key --out").empty());
    CHECK(contains(completed("cubinet serve-warm --home x -- bas"), "bash"));
    CHECK_FALSE(contains(completed("cubinet serve-warm -- bash --"), "--site-home"));
    CHECK(contains(completed("cubinet serve-warm --"), "--site-home"));
  }
  CHECK(run_tool({"completion", "csh"}).status == 2);
}

TEST_CASE("the manual page has every verb and every option of its help, and roff finds no mistake") {
  const Sandbox sandbox;
  const ToolResult printed = run_tool({"manual"});
  REQUIRE(printed.status == 0);
  CHECK(run_tool({"manual", "--json"}).json()["manual"] == printed.out);
  std::map<std::vector<std::string>, Help> helps;
  read_helps({}, helps);
  const auto escaped = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2)
      text.insert(at, 1, '\\');
    return text;
  };
  for (const auto& [verb, help] : helps) {
    if (!help.verbs.empty()) continue;
    const std::string words = joined(verb);
    const std::string title = "\n.SS cubinet " + escaped(words.substr(0, words.size() - 1)) + "\n";
    CAPTURE(title);
    const std::size_t begin = printed.out.find(title);
    REQUIRE(begin != std::string::npos);
    const std::string section = printed.out.substr(begin, printed.out.find("\n.S", begin + 5) - begin);
    const std::string common = printed.out.substr(0, printed.out.find(".SH VERBS"));
    for (const std::string& option : help.options) {
      CAPTURE(option);
      const std::string name = "\\fB" + escaped(option) + "\\fR";
      CHECK((contains(section, name) || contains(common, name)));
    }
  }
  if (path_of("groff").empty()) return;
  sandbox.write("cubinet.1", printed.out);
  // The page is ASCII: groff would take other bytes for Latin-1.
  CHECK(std::all_of(printed.out.begin(), printed.out.end(), [](char c) { return c > 0; }));
  const ToolResult formatted =
      run_shell(path_of("groff"), {"-T", "ascii", "-man", "-ww", "-z", sandbox.path("cubinet.1")});
  CHECK(formatted.status == 0);
  CHECK(formatted.err.empty());
}
