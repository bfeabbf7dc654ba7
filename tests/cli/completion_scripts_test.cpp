// SPDX-License-Identifier: Apache-2.0
#include "completion_scripts.hpp"

#include "support/text.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

cli::VerbTable example() {
  cli::VerbTable table;
  table.common = {{.names = {"-v", "--verbose"}, .description = "Say more"},
                  {.names = {"--home"}, .value = "FOLDER", .description = "The home"}};
  cli::VerbEntry tool;
  tool.verbs = {"bundle", "run"};
  cli::VerbEntry bundle;
  bundle.words = "bundle";
  bundle.description = "It's for [bundles]: all";
  bundle.verbs = {"list"};
  cli::VerbEntry list;
  list.words = "bundle list";
  list.options = {
      {.names = {"--kind"}, .value = "KIND", .choices = {"plain", "ship"}, .description = "The kind"}};
  list.arguments = {{.value = "FILE", .repeated = true}};
  cli::VerbEntry run;
  run.words = "run";
  run.arguments = {{.value = "WHAT", .choices = {"decode", "merge"}}};
  table.verbs = {tool, bundle, list, run};
  return table;
}

// Returns the words that Bash offers at the end of a line, whose words are separated by spaces.
std::string offered(const std::string& line) {
  ToolSetting bash;
  bash.executable = "/bin/bash";
  const ToolResult result = run_tool(
      {"-c", cli::bash_completion(example()) +
                 "\ncompopt() { echo files; }\nIFS=' ' read -ra COMP_WORDS <<<'" + line + "'\n[[ '" + line +
                 "' != *' ' ]] || COMP_WORDS+=('')\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_cubinet\n"
                 "echo \"${COMPREPLY[*]}\"\n"},
      bash);
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  return result.out;
}

}  // namespace

TEST_CASE("Bash completes verbs, options, values of a set and files") {
  CHECK(offered("cubinet ") == "bundle run\n");
  CHECK(offered("cubinet bu") == "bundle\n");
  CHECK(offered("cubinet --home x bundle ") == "list\n");
  CHECK(offered("cubinet --home = x bundle ") == "list\n");
  CHECK(offered("cubinet --home bundle ") == "bundle run\n");
  CHECK(offered("cubinet bundle list --") == "--kind --verbose --home\n");
  CHECK(offered("cubinet bundle list --kind s") == "ship\n");
  CHECK(offered("cubinet bundle list --kind =") == "plain ship\n");
  CHECK(offered("cubinet bundle list ") == "files\n\n");
  CHECK(offered("cubinet run --home ") == "files\n\n");
  CHECK(offered("cubinet run m") == "merge\n");
  CHECK(offered("cubinet run --kind ") == "\n");
}

TEST_CASE("Zsh has a function for each verb, and descriptions are quoted") {
  const std::string script = cli::zsh_completion(example());
  CHECK(script.starts_with("#compdef cubinet\n"));
  CHECK(contains(script, "\n_cubinet_bundle_list() {\n"));
  CHECK(contains(script, "'bundle:It'\\''s for \\[bundles\\]\\: all'"));
  CHECK(contains(script, "'(--kind)--kind=[The kind]:KIND:(plain ship)'"));
  CHECK(contains(script, "'(--home)--home=[The home]:FOLDER:_files'"));
  CHECK(contains(script, "'*-v[Say more]'"));
  CHECK(contains(script, "'*:FILE:_files'"));
}

TEST_CASE("Fish has a line for each option and verb, with the words before it") {
  const std::string script = cli::fish_completion(example());
  CHECK(contains(script, "complete -c cubinet -n __cubinet_options -s v -l verbose -d 'Say more'\n"));
  CHECK(contains(script, "complete -c cubinet -n __cubinet_options -l home -r -F -d 'The home'\n"));
  CHECK(contains(script, "complete -c cubinet -n '__cubinet_verb \"\"' -f -x -a 'bundle' -d 'It\\'s for "));
  CHECK(contains(script, "-n '__cubinet_verb \" bundle\"' -f -x -a 'list'"));
  CHECK(contains(script, "-n '__cubinet_verb \" bundle list\"' -l kind -x -a 'plain ship' -d 'The kind'\n"));
}
